//! Unicode as Go knows it: the names behind `\p`, their members, and case folding.
//!
//! Go 1.25 and 1.26 have the tables of Unicode 15.0; the crates here have newer ones. A set of Unicode 15.0 is the newer set without
//! the code points that were not yet assigned ("age"). Which older code points have changed since is known from comparing all of them; the
//! tests repeat that for every name and every code point, against digests of Go's tables.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The Unicode version of Go's tables (`unicode.Version`).
const AGE: &str = "15.0";

/// Why a name has no members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Go refuses the name.
    ToGo,
    /// Go knows the name, the tables here do not.
    ToUs,
}

/// General categories and their longer names (`unicode.Categories`, `unicode.CategoryAliases`), in Go's canonical spelling.
const CATEGORIES: &[(&str, &str)] = &[
    ("C", "C"),
    ("Cc", "Cc"),
    ("Cf", "Cf"),
    ("Cn", "Cn"),
    ("Co", "Co"),
    ("Cs", "Cs"),
    ("L", "L"),
    ("Lc", "LC"),
    ("Ll", "Ll"),
    ("Lm", "Lm"),
    ("Lo", "Lo"),
    ("Lt", "Lt"),
    ("Lu", "Lu"),
    ("M", "M"),
    ("Mc", "Mc"),
    ("Me", "Me"),
    ("Mn", "Mn"),
    ("N", "N"),
    ("Nd", "Nd"),
    ("Nl", "Nl"),
    ("No", "No"),
    ("P", "P"),
    ("Pc", "Pc"),
    ("Pd", "Pd"),
    ("Pe", "Pe"),
    ("Pf", "Pf"),
    ("Pi", "Pi"),
    ("Po", "Po"),
    ("Ps", "Ps"),
    ("S", "S"),
    ("Sc", "Sc"),
    ("Sk", "Sk"),
    ("Sm", "Sm"),
    ("So", "So"),
    ("Z", "Z"),
    ("Zl", "Zl"),
    ("Zp", "Zp"),
    ("Zs", "Zs"),
    ("Casedletter", "LC"),
    ("Closepunctuation", "Pe"),
    ("Combiningmark", "M"),
    ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"),
    ("Currencysymbol", "Sc"),
    ("Dashpunctuation", "Pd"),
    ("Decimalnumber", "Nd"),
    ("Enclosingmark", "Me"),
    ("Finalpunctuation", "Pf"),
    ("Format", "Cf"),
    ("Initialpunctuation", "Pi"),
    ("Letter", "L"),
    ("Letternumber", "Nl"),
    ("Lineseparator", "Zl"),
    ("Lowercaseletter", "Ll"),
    ("Mark", "M"),
    ("Mathsymbol", "Sm"),
    ("Modifierletter", "Lm"),
    ("Modifiersymbol", "Sk"),
    ("Nonspacingmark", "Mn"),
    ("Number", "N"),
    ("Openpunctuation", "Ps"),
    ("Other", "C"),
    ("Otherletter", "Lo"),
    ("Othernumber", "No"),
    ("Otherpunctuation", "Po"),
    ("Othersymbol", "So"),
    ("Paragraphseparator", "Zp"),
    ("Privateuse", "Co"),
    ("Punctuation", "P"),
    ("Separator", "Z"),
    ("Spaceseparator", "Zs"),
    ("Spacingmark", "Mc"),
    ("Surrogate", "Cs"),
    ("Symbol", "S"),
    ("Titlecaseletter", "Lt"),
    ("Unassigned", "Cn"),
    ("Uppercaseletter", "Lu"),
    ("Cntrl", "Cc"),
    ("Digit", "Nd"),
    ("Punct", "P"),
];

/// The scripts Go finds by name (`unicode.Scripts`). Those of more than one word (`Old_Italic`, `SignWriting`) are missing: Go 1.25 and 1.26
/// look them up in a spelling their own table does not have, and refuse them.
#[rustfmt::skip]
const SCRIPTS: &[&str] = &[
    "Adlam", "Ahom", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Batak", "Bengali", "Bhaiksuki",
    "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid", "Carian", "Chakma", "Cham", "Cherokee",
    "Chorasmian", "Common", "Coptic", "Cuneiform", "Cypriot", "Cyrillic", "Deseret", "Devanagari", "Dogra",
    "Duployan", "Elbasan", "Elymaic", "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek",
    "Gujarati", "Gurmukhi", "Han", "Hangul", "Hanunoo", "Hatran", "Hebrew", "Hiragana", "Inherited",
    "Javanese", "Kaithi", "Kannada", "Katakana", "Kawi", "Kharoshthi", "Khmer", "Khojki", "Khudawadi",
    "Lao", "Latin", "Lepcha", "Limbu", "Lisu", "Lycian", "Lydian", "Mahajani", "Makasar", "Malayalam",
    "Mandaic", "Manichaean", "Marchen", "Medefaidrin", "Miao", "Modi", "Mongolian", "Mro", "Multani",
    "Myanmar", "Nabataean", "Nandinagari", "Newa", "Nko", "Nushu", "Ogham", "Oriya", "Osage", "Osmanya",
    "Palmyrene", "Phoenician", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian",
    "Siddham", "Sinhala", "Sogdian", "Soyombo", "Sundanese", "Syriac", "Tagalog", "Tagbanwa", "Takri",
    "Tamil", "Tangsa", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Toto",
    "Ugaritic", "Vai", "Vithkuqi", "Wancho", "Yezidi", "Yi",
];

/// The members of the class that `\p{name}` names, or `(?i)\p{name}`; without surrogates, which no text contains.
pub(super) fn property(name: &str, fold_case: bool) -> Result<ClassUnicode, Unknown> {
    let name = canonical(name);
    let class = exact_property(&name)?;
    // Go has no folding table for this category (`unicode.FoldCategory`), though U+0345 folds into it.
    let never_folded = ["Lc", "Casedletter"].contains(&name.as_str());
    if fold_case && !never_folded { folded(class) } else { Ok(class) }
}

fn exact_property(name: &str) -> Result<ClassUnicode, Unknown> {
    match name {
        "Any" => return Ok(everything()),
        "Ascii" => return Ok(ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7F')])),
        "Assigned" => return category("Cn").map(negated),
        _ => {}
    }
    if let Some((_, short)) = CATEGORIES.iter().find(|(known, _)| *known == name) {
        return category(short);
    }
    if SCRIPTS.contains(&name) {
        return table(&format!("script={name}"));
    }
    Err(Unknown::ToGo)
}

/// Go's canonical spelling: the first letter upper case, the others lower case, no blanks, `_` or `-` (`parse.go` `canonicalName`).
fn canonical(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')) {
        out.push(if out.is_empty() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
    }
    out
}

fn category(short: &str) -> Result<ClassUnicode, Unknown> {
    let mut class = match short {
        // Surrogates alone.
        "Cs" => ClassUnicode::empty(),
        // What was not assigned yet includes what has been assigned since.
        "Cn" => {
            let mut assigned = negated(members("gc=Cn")?);
            assigned.intersect(assigned_then()?);
            negated(assigned)
        }
        "C" => {
            let mut other = category("Cn")?;
            for part in ["Cc", "Cf", "Co"] {
                other.union(&category(part)?);
            }
            other
        }
        _ => table(&format!("gc={short}"))?,
    };
    let ahom_medial = ClassUnicode::new([ClassUnicodeRange::new(MOVED_FROM_MN_TO_MC, MOVED_FROM_MN_TO_MC)]);
    match short {
        "Mn" => class.union(&ahom_medial),
        "Mc" => class.difference(&ahom_medial),
        _ => {}
    }
    Ok(class)
}

/// The one code point that has changed its category since: a combining mark that takes up no space in Unicode 15.0 and some in 16.0.
const MOVED_FROM_MN_TO_MC: char = '\u{1171E}';

/// Code points that fold to each other since Unicode 15.1 and are alone in 15.0.
const NOT_FOLDED_THEN: &[char] = &['\u{390}', '\u{3B0}', '\u{1FD3}', '\u{1FE3}', '\u{FB05}', '\u{FB06}'];

/// The members of a property that were assigned when Go's tables were made.
fn table(property: &str) -> Result<ClassUnicode, Unknown> {
    let mut class = members(property)?;
    class.intersect(assigned_then()?);
    Ok(class)
}

/// The members of a property by the tables of the `regex-syntax` crate.
fn members(property: &str) -> Result<ClassUnicode, Unknown> {
    let hir = regex_syntax::parse(&format!(r"\p{{{property}}}")).map_err(|_| Unknown::ToUs)?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class),
        // A class of one member.
        HirKind::Literal(member) => {
            let member = str::from_utf8(&member.0).map_err(|_| Unknown::ToUs)?;
            Ok(ClassUnicode::new(member.chars().map(|c| ClassUnicodeRange::new(c, c))))
        }
        _ => Err(Unknown::ToUs),
    }
}

/// What was assigned, or reserved for private use or as no character, when Go's tables were made.
fn assigned_then() -> Result<&'static ClassUnicode, Unknown> {
    static ASSIGNED: LazyLock<Option<ClassUnicode>> = LazyLock::new(|| members(&format!("age={AGE}")).ok());
    ASSIGNED.as_ref().ok_or(Unknown::ToUs)
}

/// What may fold: code points that were assigned, without those whose folding is newer.
fn foldable_then() -> Result<&'static ClassUnicode, Unknown> {
    static FOLDABLE: LazyLock<Option<ClassUnicode>> = LazyLock::new(|| {
        let mut foldable = assigned_then().ok()?.clone();
        foldable
            .difference(&ClassUnicode::new(NOT_FOLDED_THEN.iter().map(|c| ClassUnicodeRange::new(*c, *c))));
        Some(foldable)
    });
    FOLDABLE.as_ref().ok_or(Unknown::ToUs)
}

/// `class` and everything that differs from a member in case alone (`unicode.SimpleFold`).
pub(super) fn folded(mut class: ClassUnicode) -> Result<ClassUnicode, Unknown> {
    let foldable = foldable_then()?;
    let mut partners = class.clone();
    partners.intersect(foldable);
    partners.try_case_fold_simple().map_err(|_| Unknown::ToUs)?;
    partners.intersect(foldable);
    class.union(&partners);
    Ok(class)
}

fn everything() -> ClassUnicode {
    negated(ClassUnicode::empty())
}

fn negated(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}
