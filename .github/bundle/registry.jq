# The entry of a release in the MCP registry: the template with the release's own owner, version, address and checksum.
.name = "io.github.\($owner)/allowexec"
| .version = $version
| .repository.url = "https://github.com/\($repository)"
| .packages[0].version = $version
| .packages[0].identifier = "https://github.com/\($repository)/releases/download/v\($version)/allowexec-\($version).mcpb"
| .packages[0].fileSha256 = $sha256
