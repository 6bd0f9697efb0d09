//! What the crate promises to programs that embed it: every public item, read off the sources, beside a snapshot.
//!
//! A change of the snapshot is a change that semantic versioning asks about. The reader follows `pub mod` and `pub use`
//! from `lib.rs`, and prints of each item what others can name: no bodies, no private fields, no documentation. It reads
//! the sources and not rustdoc's JSON, which takes a nightly toolchain and changes its form with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

/// The items of every module, by its path.
type Modules = BTreeMap<Vec<String>, Vec<Item>>;

fn load(file: &Path, children: &Path, path: Vec<String>, modules: &mut Modules) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let items = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items;
    for item in &items {
        let Item::Mod(module) = item else { continue };
        if module.content.is_some() || is_for_tests(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        let (flat, folder) = (children.join(format!("{name}.rs")), children.join(&name));
        let here = file.parent().unwrap_or(file);
        let (file, folder) = match named_file(&module.attrs).map(|named| here.join(named)) {
            // The modules in such a file lie beside it.
            Some(named) => (named.clone(), named.parent().unwrap_or(here).to_owned()),
            None => (if flat.exists() { flat } else { folder.join("mod.rs") }, folder),
        };
        load(&file, &folder, [path.clone(), vec![name]].concat(), modules);
    }
    modules.insert(path, items);
}

/// The file of a module that has one for each platform: that of Unix, or of Linux.
fn named_file(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let text = text(attribute).replace(' ', "");
        let conditions = ["#[cfg_attr(unix,path=\"", "#[cfg_attr(target_os=\"linux\",path=\""];
        let named = conditions.iter().find_map(|condition| text.strip_prefix(condition))?;
        named.split('"').next().map(str::to_owned)
    })
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| text(attribute).replace(' ', "") == "#[cfg(test)]")
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Tokens with the blanks that people write.
fn text(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let pairs = [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" > ", "> "),
        (" >", ">"),
        (" ,", ","),
        (" ;", ";"),
        (" : ", ": "),
        ("& ", "&"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("' ", "'"),
        (" !", "!"),
        ("# [", "#["),
    ];
    pairs.iter().fold(text, |text, (from, to)| text.replace(from, to)).replace("> ,", ">,").replace("->(", "-> (")
}

/// The attributes that others can see, as a prefix.
fn shown(attributes: &[Attribute]) -> String {
    let seen = ["cfg", "derive", "must_use", "non_exhaustive"];
    let seen = attributes.iter().filter(|attribute| seen.iter().any(|name| attribute.path().is_ident(name)));
    seen.map(|attribute| text(attribute) + " ").collect()
}

fn fields(fields: &Fields, all: bool) -> String {
    let visible = |visibility: &Visibility| all || is_public(visibility);
    let hidden = fields.iter().any(|field| !visible(&field.vis));
    let mut shown: Vec<String> = Vec::new();
    for field in fields.iter() {
        let name = field.ident.as_ref().map_or_else(String::new, |name| format!("{name}: "));
        match visible(&field.vis) {
            true => shown.push(format!("{name}{}", text(&field.ty))),
            false if field.ident.is_none() => shown.push("_".to_owned()),
            false => {}
        }
    }
    match fields {
        Fields::Named(_) if hidden => format!(" {{ {} }}", [shown, vec!["..".to_owned()]].concat().join(", ")),
        Fields::Named(_) => format!(" {{ {} }}", shown.join(", ")),
        Fields::Unnamed(_) => format!("({})", shown.join(", ")),
        Fields::Unit => String::new(),
    }
}

struct Interface<'a> {
    modules: &'a Modules,
    lines: Vec<String>,
}

impl Interface<'_> {
    /// Prints the public items of a module under the path that others name it by.
    fn module(&mut self, path: &[String], shown: &str) {
        let modules = self.modules;
        for item in &modules[path] {
            match item {
                Item::Use(item) if is_public(&item.vis) => self.reexport(path, &item.tree, Vec::new(), shown),
                Item::Mod(item) if is_public(&item.vis) && !is_for_tests(&item.attrs) => {
                    let name = item.ident.to_string();
                    self.lines.push(format!("{shown}::{name}: mod"));
                    self.module(&[path, std::slice::from_ref(&name)].concat(), &format!("{shown}::{name}"));
                }
                item => self.item(path, item, None, shown),
            }
        }
    }

    fn reexport(&mut self, module: &[String], tree: &UseTree, mut path: Vec<String>, shown: &str) {
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.reexport(module, &tree.tree, path, shown);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.reexport(module, tree, path.clone(), shown));
            }
            UseTree::Name(name) => self.named(module, path, &name.ident.to_string(), &name.ident.to_string(), shown),
            UseTree::Rename(name) => {
                self.named(module, path, &name.ident.to_string(), &name.rename.to_string(), shown);
            }
            UseTree::Glob(_) => panic!("{shown}: a glob does not say what is public"),
        }
    }

    fn named(&mut self, module: &[String], path: Vec<String>, name: &str, shown_name: &str, shown: &str) {
        let mut target = module.to_vec();
        for segment in &path {
            match segment.as_str() {
                "crate" => target.clear(),
                "self" => {}
                "super" => drop(target.pop()),
                child => target.push(child.to_owned()),
            }
        }
        let modules = self.modules;
        let Some(items) = modules.get(&target) else {
            self.lines.push(format!("{shown}::{shown_name}: use {}::{name}", path.join("::")));
            return;
        };
        let before = self.lines.len();
        for item in items {
            match item {
                Item::Use(item) => self.reexport_of(&target, &item.tree, Vec::new(), (name, shown_name), shown),
                item => self.item(&target, item, Some((name, shown_name)), shown),
            }
        }
        assert!(self.lines.len() > before, "{shown}::{shown_name} was not found in {target:?}");
    }

    /// Follows a re-export of a re-export.
    fn reexport_of(
        &mut self,
        module: &[String],
        tree: &UseTree,
        mut path: Vec<String>,
        name: (&str, &str),
        shown: &str,
    ) {
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.reexport_of(module, &tree.tree, path, name, shown);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.reexport_of(module, tree, path.clone(), name, shown));
            }
            UseTree::Name(found) if found.ident == name.0 => self.named(module, path, name.0, name.1, shown),
            UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => {}
        }
    }

    /// Prints an item; with `only`, where it has that name, under the other one.
    fn item(&mut self, module: &[String], item: &Item, only: Option<(&str, &str)>, shown: &str) {
        let (visibility, attributes, name, what, has_impls) = match item {
            Item::Fn(item) => (&item.vis, &item.attrs, &item.sig.ident, text(&item.sig), false),
            Item::Const(item) => (&item.vis, &item.attrs, &item.ident, format!("const {}", text(&item.ty)), false),
            Item::Static(item) => (&item.vis, &item.attrs, &item.ident, format!("static {}", text(&item.ty)), false),
            Item::Type(item) => (
                &item.vis,
                &item.attrs,
                &item.ident,
                format!("type{} = {}", text(&item.generics), text(&item.ty)),
                false,
            ),
            Item::Struct(item) => {
                let what = format!("struct{}{}", text(&item.generics), fields(&item.fields, false));
                (&item.vis, &item.attrs, &item.ident, what, true)
            }
            Item::Enum(item) => {
                let variant = |variant: &syn::Variant| format!("{}{}", variant.ident, fields(&variant.fields, true));
                let variants: Vec<String> = item.variants.iter().map(variant).collect();
                let what = format!("enum{} {{ {} }}", text(&item.generics), variants.join(", "));
                (&item.vis, &item.attrs, &item.ident, what, true)
            }
            Item::Trait(item) => {
                let member = |member: &TraitItem| match member {
                    TraitItem::Fn(method) => {
                        format!("{}{}", text(&method.sig), if method.default.is_some() { " { … }" } else { "" })
                    }
                    other => text(other),
                };
                let members: Vec<String> = item.items.iter().map(member).collect();
                let what = format!("trait: {} {{ {} }}", text(&item.supertraits), members.join("; "));
                (&item.vis, &item.attrs, &item.ident, what, false)
            }
            _ => return,
        };
        let name = name.to_string();
        let shown_name = match only {
            Some((wanted, _)) if wanted != name => return,
            Some((_, shown)) => shown.to_owned(),
            None => name.clone(),
        };
        if !is_public(visibility) || is_for_tests(attributes) {
            return;
        }
        let full = format!("{shown}::{shown_name}");
        self.lines.push(format!("{full}: {}{what}", self::shown(attributes)));
        if has_impls {
            self.impls(&module[0], &name, &full);
        }
    }

    /// The methods and traits of a type, wherever in its layer they stand.
    fn impls(&mut self, layer: &str, name: &str, full: &str) {
        let modules = self.modules;
        let in_layer = modules.iter().filter(|(path, _)| path.first().is_some_and(|first| first == layer));
        for item in in_layer.flat_map(|(_, items)| items) {
            let Item::Impl(block) = item else { continue };
            let Type::Path(of) = &*block.self_ty else { continue };
            if of.path.segments.last().is_none_or(|segment| segment.ident != name) || is_for_tests(&block.attrs) {
                continue;
            }
            if let Some((of_trait, _)) = &block.trait_ {
                self.lines.push(format!("{full}: impl{} {}", text(&block.generics), text(of_trait)));
                continue;
            }
            for member in &block.items {
                match member {
                    ImplItem::Fn(method) if is_public(&method.vis) => {
                        let line =
                            format!("{full}::{}: {}{}", method.sig.ident, shown(&method.attrs), text(&method.sig));
                        self.lines.push(line);
                    }
                    ImplItem::Const(item) if is_public(&item.vis) => {
                        self.lines.push(format!("{full}::{}: const {}", item.ident, text(&item.ty)));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The interface, a line an item.
fn interface() -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules = Modules::new();
    load(&sources.join("lib.rs"), &sources, Vec::new(), &mut modules);
    let mut interface = Interface { modules: &modules, lines: Vec::new() };
    interface.module(&[], "allowexec");
    interface.lines.into_iter().collect()
}

#[test]
fn a_change_of_the_public_interface_is_seen() {
    let text = interface().into_iter().collect::<Vec<_>>().join("\n");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("public_interface", text));
}

/// The identifiers of a type, in their order.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn a_program_that_embeds_the_crate_cannot_make_a_command_of_its_own_choice() {
    let interface = interface();
    let names = ["AllowedCommand", "ShellCommand", "Decision", "ShellDecision", "Program"];
    let signatures = interface.iter().filter(|line| line.contains(": fn ") || line.contains(": #[must_use] fn "));
    let makers: Vec<&str> = signatures
        .clone()
        .filter(|line| {
            let returned = line.rsplit_once(" -> ").map_or("", |(_, returned)| returned);
            words(returned).any(|word| names.contains(&word))
        })
        .map(|line| line.split_once(": ").map_or(line.as_str(), |(name, _)| name))
        .collect();
    assert_eq!(
        makers,
        [
            "allowexec::policy::Policy::evaluate",
            "allowexec::policy::Policy::examine",
            "allowexec::policy::Programs::find_listed",
        ]
    );
    // What may run holds nothing that others can name, and what was decided once runs once.
    for name in ["AllowedCommand", "ShellCommand", "Program"] {
        let prefix = format!("allowexec::policy::{name}: ");
        let item = interface.iter().find(|line| line.starts_with(&prefix) && line.contains(" struct ")).unwrap();
        assert!(item.ends_with("struct { .. }"), "{item}");
        assert!(name == "Program" || !item.contains("Clone"), "{item}");
        let makes = ["From", "TryFrom", "FromStr", "Default", "Deserialize"];
        let mut items = interface.iter().filter(|line| line.starts_with(&prefix));
        assert!(!items.any(|line| makes.iter().any(|made| words(line).any(|word| word == *made))), "{name}");
    }
    // A program that was found is looked at, and given to nothing.
    let takers: Vec<&String> = signatures
        .filter(|line| {
            let taken =
                line.split_once('(').map_or("", |(_, rest)| rest.rsplit_once(" -> ").map_or(rest, |(taken, _)| taken));
            words(taken).any(|word| word == "Program")
        })
        .collect();
    assert_eq!(takers, Vec::<&String>::new());
}
