//! Which keys a document may have and what type each takes: tables, read by the structure stage and by the JSON schema.
//!
//! Nothing here knows what a value means; that is for the checks of each arm. A new key is one row of a table.

pub(crate) mod binding;
pub(crate) mod catalog;
pub(crate) mod replay;
pub(crate) mod sweeper;
mod terms;
pub(crate) mod walk;

/// The keys of one mapping.
pub(crate) struct Table {
    /// What the mapping is, for editors.
    pub(crate) about: &'static str,
    pub(crate) fields: &'static [Field],
    /// Keys named `_comment` or `_comment_…` are dropped (`bindings.md` §5.3).
    pub(crate) comments: bool,
}

/// One key.
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) form: Form,
    /// Its absence is always an error.
    pub(crate) required: bool,
    /// Meaning and unit, for editors.
    pub(crate) about: &'static str,
}

/// The type of a value. Null is "not stated" everywhere.
pub(crate) enum Form {
    Text,
    /// Text of a closed vocabulary. The words are checked later, so that all wrong words are told at once.
    Word(&'static [&'static str]),
    /// As [`Form::Word`], but a boolean passes on to the check, which explains the missing quotes.
    Switch(&'static [&'static str]),
    /// A whole number with the least value that can pass, if there is one.
    Integer(Option<i64>),
    Number(Bound),
    Boolean,
    /// A whole number or exactly this word.
    IntegerOr(&'static str),
    /// A number, or a list of numbers.
    NumberOrRange,
    Numbers,
    Texts,
    /// Anything; kept and not looked at.
    Any,
    Mapping(&'static Table),
    /// A mapping whose keys are free names.
    Named(&'static Table),
    /// A mapping that keeps keys we do not know, with a warning (`bindings.md` §2).
    Inline(&'static Table),
}

/// What the JSON schema can say of a number. The checks say more.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Free,
    AtLeast(f64),
    Above(f64),
    Within(f64, f64),
}

impl Table {
    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// `_comment` and `_comment_*`, where the table takes them.
    pub(crate) fn drops(&self, key: &str) -> bool {
        self.comments && is_comment(key)
    }
}

/// A catalog file's comment key.
pub(crate) fn is_comment(key: &str) -> bool {
    key == "_comment" || key.starts_with("_comment_")
}

const fn required(key: &'static str, form: Form, about: &'static str) -> Field {
    Field {
        key,
        form,
        required: true,
        about,
    }
}

const fn optional(key: &'static str, form: Form, about: &'static str) -> Field {
    Field {
        key,
        form,
        required: false,
        about,
    }
}

const NOT_NEGATIVE: Form = Form::Integer(Some(0));
const POSITIVE: Form = Form::Integer(Some(1));
