//! The figures as a table, as JSON and as a plot.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use super::measure::median;
use super::medians;

/// What a figure must hold.
#[derive(Clone, Copy)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// All figures, in the order of their measuring.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    baseline: String,
    figures: String,
    value: f64,
    unit: &'static str,
    bound: Option<Bound>,
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(most) => format!("at most {most}"),
            Self::AtLeast(least) => format!("at least {least}"),
        }
    }

    fn number(self) -> f64 {
        match self {
            Self::AtMost(number) | Self::AtLeast(number) => number,
        }
    }
}

impl Report {
    /// How many times as long as its baseline something takes.
    pub fn ratio(&mut self, name: &str, baseline: &str, pair: [Vec<Duration>; 2], bound: Option<Bound>) {
        let [ours, beside] = medians(&pair);
        self.push(name, baseline, format!("{ours:.0} µs : {beside:.0} µs"), ours / beside, "×", bound);
    }

    /// How much of its baseline's throughput something reaches.
    pub fn throughput(&mut self, name: &str, baseline: &str, pair: [Vec<Duration>; 2], bound: Option<Bound>) {
        let [ours, beside] = medians(&pair);
        let figures = format!("{:.1} ms : {:.1} ms", ours / 1000.0, beside / 1000.0);
        self.push(name, baseline, figures, beside / ours, "of it", bound);
    }

    /// How much longer something takes than its baseline, in microseconds.
    #[cfg(unix)]
    pub fn added(&mut self, name: &str, baseline: &str, pair: [Vec<Duration>; 2], most: f64) {
        let [ours, beside] = medians(&pair);
        self.push(
            name,
            baseline,
            format!("{ours:.0} µs : {beside:.0} µs"),
            ours - beside,
            "µs",
            Some(Bound::AtMost(most)),
        );
    }

    /// How much longer something takes than its baseline, in medians of a third thing.
    #[cfg(target_os = "linux")]
    pub fn beyond(&mut self, name: &str, baseline: &str, pair: [Vec<Duration>; 2], unit: &[Duration], most: f64) {
        let [ours, beside] = medians(&pair);
        let figures = format!("{ours:.0} µs : {beside:.0} µs");
        let spawns = (ours - beside) / (median(unit).as_secs_f64() * 1e6);
        self.push(name, baseline, figures, spawns, "more", Some(Bound::AtMost(most)));
    }

    /// Memory in megabytes.
    pub fn memory(&mut self, name: &str, megabytes: f64, most: Option<f64>) {
        self.push(name, "", String::new(), megabytes, "MB", most.map(Bound::AtMost));
    }

    fn push(
        &mut self,
        name: &str,
        baseline: &str,
        figures: String,
        value: f64,
        unit: &'static str,
        bound: Option<Bound>,
    ) {
        eprintln!("{name}: {value:.2} {unit}");
        self.rows.push(Row { name: name.to_owned(), baseline: baseline.to_owned(), figures, value, unit, bound });
    }

    pub fn to_text(&self) -> String {
        let mut text = "| what | baseline | medians | figure | bound |\n|---|---|---|---|---|\n".to_owned();
        for row in &self.rows {
            let bound = row.bound.map_or_else(String::new, |bound| {
                format!("{}{}", bound.text(), if bound.holds(row.value) { "" } else { ", **missed**" })
            });
            writeln!(
                text,
                "| {} | {} | {} | {:.2} {} | {bound} |",
                row.name, row.baseline, row.figures, row.value, row.unit
            )
            .unwrap();
        }
        text
    }

    pub fn to_json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "what": row.name,
                "baseline": row.baseline,
                "value": row.value,
                "unit": row.unit,
                "bound": row.bound.map(Bound::text),
                "holds": row.bound.map(|bound| bound.holds(row.value)),
            })
        };
        json!(self.rows.iter().map(row).collect::<Vec<_>>())
    }

    /// Bars in parts of their bounds: what ends left of the line holds.
    pub fn to_svg(&self) -> String {
        let bounded: Vec<(&Row, Bound)> = self.rows.iter().filter_map(|row| Some((row, row.bound?))).collect();
        let (line_height, left, scale) = (26, 340.0, 320.0);
        let height = bounded.len() * line_height + 60;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"10\" y=\"22\" font-size=\"15\">Each figure as a fraction of its bound</text>\n"
        );
        for (place, (row, bound)) in bounded.iter().enumerate() {
            let y = 40 + place * line_height;
            // A figure that must be large is turned round, so that shorter is better for all.
            let part = match bound {
                Bound::AtMost(most) => row.value / most,
                Bound::AtLeast(least) => least / row.value,
            };
            let colour = if bound.holds(row.value) { "#4a7c59" } else { "#b3452c" };
            let name = row.name.replace('&', "&amp;").replace('<', "&lt;");
            writeln!(
                svg,
                "<text x=\"{:.0}\" y=\"{}\" text-anchor=\"end\">{name}</text>\
                 <rect x=\"{left}\" y=\"{y}\" width=\"{:.1}\" height=\"18\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{}\">{:.2} {} ({} {})</text>",
                left - 8.0,
                y + 14,
                part.min(1.5) * scale,
                left + part.min(1.5) * scale + 6.0,
                y + 14,
                row.value,
                row.unit,
                if matches!(bound, Bound::AtMost(_)) { "≤" } else { "≥" },
                bound.number(),
            )
            .unwrap();
        }
        let end = height - 14;
        let x = left + scale;
        writeln!(
            svg,
            "<line x1=\"{x}\" y1=\"34\" x2=\"{x}\" y2=\"{end}\" stroke=\"black\" stroke-dasharray=\"4\"/>\n</svg>"
        )
        .unwrap();
        svg
    }
}
