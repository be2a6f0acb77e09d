//! The shape of the code: modules form no circles, and no two public types share a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

/// The largest number of public types for each hundred names.
const TYPES: usize = 115;

/// One source file, without code that is compiled for tests only.
struct Module {
    /// The crate's folder of sources.
    root: PathBuf,
    /// The path of the module in its crate.
    path: Vec<String>,
    /// The names of the public types.
    types: Vec<String>,
    /// The modules and items of the same crate that it names.
    names: BTreeSet<Vec<String>>,
}

/// Collects the paths in a file that lead into its own crate.
struct ModulePaths<'m> {
    module: &'m [String],
    names: BTreeSet<Vec<String>>,
    types: Vec<String>,
}

impl ModulePaths<'_> {
    /// Adds a path that begins with `crate`, `self` or `super`.
    fn add(&mut self, segments: &[String]) {
        let Some((first, mut rest)) = segments.split_first() else { return };
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.module.to_vec(),
            "super" => self.module[..self.module.len().saturating_sub(1)].to_vec(),
            _ => return,
        };
        while let [first, others @ ..] = rest
            && first == "super"
        {
            base.pop();
            rest = others;
        }
        base.extend(rest.iter().cloned());
        self.names.insert(base);
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) => self.add(&with(name.ident.to_string())),
            UseTree::Rename(name) => self.add(&with(name.ident.to_string())),
            UseTree::Glob(_) => self.add(before),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(before, tree)),
        }
    }
}

/// Returns whether an item is compiled for tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                let condition = list.tokens.to_string();
                condition == "test"
                    || condition.starts_with("any (test")
                    || condition.starts_with("all (test")
            })
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for ModulePaths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        let public = match item {
            Item::Enum(item) => Some((&item.vis, &item.ident)),
            Item::Struct(item) => Some((&item.vis, &item.ident)),
            Item::Trait(item) => Some((&item.vis, &item.ident)),
            Item::Type(item) => Some((&item.vis, &item.ident)),
            _ => None,
        };
        if let Some((visibility, name)) = public
            && !matches!(visibility, Visibility::Inherited)
        {
            self.types.push(name.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&segments);
        visit::visit_path(self, path);
    }
}

/// Reads a module and the modules below it.
fn read(root: &Path, path: Vec<String>, file: &Path, modules: &mut Vec<Module>) {
    let text = fs::read_to_string(file).unwrap();
    let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut names = ModulePaths { module: &path, names: BTreeSet::new(), types: Vec::new() };
    names.visit_file(&syntax);
    let (types, names) = (names.types, names.names);
    let is_folder =
        matches!(file.file_name().and_then(|name| name.to_str()), Some("lib.rs" | "main.rs" | "mod.rs"));
    let folder = if is_folder { file.parent().unwrap().to_owned() } else { file.with_extension("") };
    for item in &syntax.items {
        if let Item::Mod(ItemMod { ident, content: None, attrs, .. }) = item
            && !is_for_tests(attrs)
        {
            let below = [folder.join(format!("{ident}.rs")), folder.join(ident.to_string()).join("mod.rs")];
            let below = below.iter().find(|file| file.exists()).unwrap();
            read(root, [path.as_slice(), &[ident.to_string()]].concat(), below, modules);
        }
    }
    modules.push(Module { root: root.to_owned(), path, types, names });
}

/// Reads all crates of the program.
fn modules() -> Vec<Module> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = fs::read_dir(here.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let mut modules = Vec::new();
    for root in crates.chain([here.join("src")]) {
        read(&root, Vec::new(), &root.join("lib.rs"), &mut modules);
    }
    modules
}

/// Returns a circle among the modules of a folder.
fn circle(imports: &BTreeMap<&str, BTreeSet<&str>>) -> Option<Vec<String>> {
    fn walk<'m>(
        at: &'m str,
        imports: &BTreeMap<&'m str, BTreeSet<&'m str>>,
        way: &mut Vec<&'m str>,
        done: &mut BTreeSet<&'m str>,
    ) -> Option<Vec<String>> {
        if let Some(begin) = way.iter().position(|name| *name == at) {
            return Some(way[begin..].iter().map(ToString::to_string).collect());
        }
        if !done.insert(at) {
            return None;
        }
        way.push(at);
        let circle =
            imports.get(at).and_then(|all| all.iter().find_map(|next| walk(next, imports, way, done)));
        way.pop();
        circle
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|name| walk(name, imports, &mut Vec::new(), &mut done))
}

#[test]
fn modules_of_a_folder_have_no_circle() {
    let modules = modules();
    let paths: BTreeSet<(&Path, &[String])> =
        modules.iter().map(|module| (module.root.as_path(), module.path.as_slice())).collect();
    let mut circles = Vec::new();
    // In the command line and the operator the modules of each folder, in a library those of the crate.
    let checked = paths.iter().filter(|(root, folder)| match folder.len() {
        0 => true,
        1 => root.ends_with("queuewarden-operator/src") || !root.iter().any(|part| part == "crates"),
        _ => false,
    });
    for (root, folder) in checked {
        let below = |path: &[String]| -> Option<String> {
            let name = path.strip_prefix(*folder)?.first()?;
            paths.contains(&(*root, &[folder, std::slice::from_ref(name)].concat()[..])).then(|| name.clone())
        };
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for module in modules.iter().filter(|module| module.root == *root) {
            let Some(from) = below(&module.path) else { continue };
            let to = module.names.iter().filter_map(|name| below(name)).filter(|to| *to != from);
            imports.entry(from.clone()).or_default().extend(to);
        }
        let imports = imports
            .iter()
            .map(|(from, to)| (from.as_str(), to.iter().map(String::as_str).collect()))
            .collect();
        if let Some(circle) = circle(&imports) {
            circles.push(format!("{} {}: {}", root.display(), folder.join("::"), circle.join(" -> ")));
        }
    }
    assert!(circles.is_empty(), "{} circles:\n{}", circles.len(), circles.join("\n"));
}

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let modules = modules();
    for name in modules.iter().flat_map(|module| &module.types) {
        *names.entry(name).or_default() += 1;
    }
    let types: usize = names.values().sum();
    let shared: Vec<_> = names.iter().filter(|(_, count)| **count > 1).collect();
    assert!(
        types * 100 <= TYPES * names.len(),
        "{types} public types share {} names: {shared:?}",
        names.len()
    );
}
