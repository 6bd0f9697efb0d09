# The entry of a release in the MCP registry: the template with the release's own owner, version, addresses and checksum.
.name = "io.github.\($owner)/allowexec"
| .version = $version
| .repository.url = "https://github.com/\($repository)"
| .packages |= map(
    if .registryType == "oci" then
      .identifier = "ghcr.io/\($owner | ascii_downcase)/allowexec:\($version)"
    elif .registryType == "mcpb" then
      .version = $version | .fileSha256 = $sha256
      | .identifier = "https://github.com/\($repository)/releases/download/v\($version)/allowexec-\($version).mcpb"
    else
      .version = $version
    end)
