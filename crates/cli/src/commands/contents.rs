//! `corpus inspect` and `corpus survey`: what is in a trace or corpus, and what is wrong with it.

use crate::args::{ContentsArgs, FormName, Format};
use crate::exit::Exit;
use crate::render::contents::{self, Contents};
use crate::{output, trace_input};
use corpus::survey::Survey;
use corpus::{Corpus, LoadOptions};
use trace::mooncake::{Entries, Options, Read};
use trace::recording::{LoadOptions as TraceOptions, Recording};
use trace::sharing::sharing;
use trace::survey::{Column, Columns, Tally};
use trace::verify::{Reference, verify_with};
use trace::{Problems, Severity};

pub(crate) fn inspect(args: &ContentsArgs) -> anyhow::Result<Exit> {
    run(args, Columns::Left)
}

pub(crate) fn survey(args: &ContentsArgs) -> anyhow::Result<Exit> {
    run(args, Columns::Kept)
}

fn run(args: &ContentsArgs, columns: Columns) -> anyhow::Result<Exit> {
    let found = match trace_input::form_of(&args.file, args.form)? {
        FormName::Weka => weka(args, columns)?,
        FormName::Mooncake => mooncake(args, columns)?,
        FormName::Csv => match trace_input::reference(&args.file)? {
            Some(reference) => csv(&reference, columns)?,
            None => return Ok(Exit::Invalid),
        },
    };
    for problem in &found.problems {
        output::say(problem);
    }
    match args.format {
        Format::Json => output::json(&contents::json(&found))?,
        Format::Text => output::data(&contents::text(&found))?,
    }
    Ok(if found.errors == 0 {
        Exit::Done
    } else {
        Exit::Invalid
    })
}

fn weka(args: &ContentsArgs, columns: Columns) -> anyhow::Result<Contents> {
    let corpus = match Corpus::load(&args.file, None, &LoadOptions::default(), None) {
        Ok(corpus) => corpus,
        Err(error @ corpus::Error::Read { .. }) => return Err(error.into()),
        Err(error) => {
            let mut found = Contents::new("weka", &args.file);
            found.problems.push(format!("error: {error}"));
            found.errors = 1;
            return Ok(found);
        }
    };
    let survey = Survey::of(&corpus);
    let mut found = Contents::new("weka", &args.file);
    found.fact("sha256", &corpus.sha256);
    found.fact("time unit", "s, each trace on a clock of its own");
    found.counts.extend(
        survey
            .counts
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count)),
    );
    if columns == Columns::Kept {
        found.columns = survey.columns;
    }
    let warnings = corpus.warnings.iter();
    found.problems = warnings
        .map(|warning| format!("warning: {}: {warning}", args.file.display()))
        .collect();
    found.warnings = found.problems.len();
    Ok(found)
}

fn csv(reference: &Reference, columns: Columns) -> anyhow::Result<Contents> {
    let mut tally = Tally::new(columns);
    let verified = verify_with(reference, |row| {
        tally.row(row);
        Ok(())
    })?;
    let mut found = Contents::new("csv", &reference.data);
    found.fact("sha256", &verified.sha256);
    found.fact("time unit", reference.time_unit.name());
    if let Some((first_us, last_us)) = tally.arrivals_us {
        found.fact("first arrival, taken as 0 (s)", &seconds(first_us));
        found.fact("span of arrivals (s)", &seconds(last_us - first_us));
    }
    found.count("rows", verified.rows);
    found.count("sessions", verified.sessions as u64);
    found.count("single requests", tally.single);
    found.count("requests in prefix groups", tally.grouped);
    found.count("requests without prompt tokens", tally.empty);
    found.count("prompt tokens", tally.prompt_tokens);
    found.count("output tokens", tally.output_tokens);
    for (what, words) in [
        ("status", &tally.statuses),
        ("model", &tally.models),
        ("class", &tally.classes),
    ] {
        for (word, count) in words {
            found.count(&format!("{what} {word}"), *count);
        }
    }
    found.take(&verified.problems);
    if columns == Columns::Kept {
        found.columns = tally.into_columns();
        if verified.problems.is_ok() && verified.blocks.is_some() {
            let options = TraceOptions {
                include_failed: true,
                include_empty: true,
                ..TraceOptions::default()
            };
            if let Some(shared) = sharing(&Recording::load(reference, options)?)? {
                found.count("tokens a block of the sidecar", shared.block_size);
                found.count("whole blocks", shared.blocks);
                found.count("different blocks", shared.distinct);
                found.count("leading blocks seen before", shared.seen_before);
            }
        }
    }
    Ok(found)
}

fn mooncake(args: &ContentsArgs, columns: Columns) -> anyhow::Result<Contents> {
    let options = Options {
        block_size: args.trace_block_size,
        clamp_to_blocks: false,
    };
    let mut problems = Problems::new(&args.file);
    let mut entries = Entries::open(&args.file, options)?;
    let names = [
        "prompt (tokens)",
        "output (tokens)",
        "delay before a later turn (s)",
        "blocks with an id",
    ];
    let mut kept = names.map(Column::new);
    let (mut requests, mut first_turns, mut single, mut prompt, mut output, mut timed) = (0, 0, 0, 0, 0, 0);
    let mut times: Option<(f64, f64)> = None;
    while !problems.is_full() {
        let entry = match entries.next(&mut problems)? {
            Read::End => break,
            Read::Wrong => continue,
            Read::Entry(entry) => entry,
        };
        requests += 1;
        first_turns += u64::from(entry.turn == 0 && entry.session.is_some());
        single += u64::from(entry.session.is_none());
        prompt += u64::from(entry.input);
        output += u64::from(entry.output);
        if let Some(at) = entry.at_ms {
            timed += 1;
            let (first, last) = times.unwrap_or((at, at));
            times = Some((first.min(at), last.max(at)));
        }
        if columns == Columns::Kept {
            kept[0].push(Some(f64::from(entry.input)));
            kept[1].push(Some(f64::from(entry.output)));
            if let Some(delay) = entry.delay_ms {
                kept[2].push(Some(delay / 1e3));
            }
            kept[3].push(Some(entry.hash_ids.len() as f64));
        }
    }
    let mut found = Contents::new("mooncake", &args.file);
    found.fact("time unit", "ms");
    match times {
        Some((first, last)) => {
            found.fact("first start, taken as 0 (s)", &format!("{}", first / 1e3));
            found.fact("span of starts (s)", &format!("{}", (last - first) / 1e3));
        }
        None => found.fact(
            "starts",
            "none recorded; such a trace can only be sent as fast as a cap allows",
        ),
    }
    found.count("requests", requests);
    found.count("requests with a start", timed);
    found.count("sessions", first_turns);
    found.count("single requests", single);
    found.count("prompt tokens", prompt);
    found.count("output tokens", output);
    found.count("tokens a block", u64::from(args.trace_block_size));
    found.take(&problems);
    found.columns = kept
        .into_iter()
        .filter(|column| !column.values.is_empty())
        .collect();
    Ok(found)
}

fn seconds(us: i64) -> String {
    format!("{}", us as f64 / 1e6)
}

impl Contents {
    fn fact(&mut self, name: &str, value: &str) {
        self.facts.push((name.to_owned(), value.to_owned()));
    }

    fn count(&mut self, name: &str, count: u64) {
        self.counts.push((name.to_owned(), count));
    }

    fn take(&mut self, problems: &Problems) {
        self.errors = problems.errors();
        self.warnings = problems.warnings();
        self.problems = problems
            .list()
            .iter()
            .map(|problem| match problem.severity {
                Severity::Error => format!("error: {problem}"),
                Severity::Warning => format!("warning: {problem}"),
            })
            .collect();
    }
}
