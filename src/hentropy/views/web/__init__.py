"""What the report and the page share: plotly.js, the style sheet, how pictures are drawn, templates with escaping."""
