// Draw the figures with Plotly in the page's colours, by day and by night.
(() => {
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const [textColour, gridColour] = ["--quiet", "--line"].map((name) => style.getPropertyValue(name).trim());
    for (const figure of document.querySelectorAll("figure")) {
      const { data, layout } = JSON.parse(figure.querySelector("script").textContent);
      layout.font = { ...layout.font, color: textColour, family: getComputedStyle(document.body).fontFamily };
      for (const axis of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
        layout[axis].gridcolor = gridColour;
      }
      Plotly.react(figure.querySelector(".chart"), data, layout, { responsive: true, displayModeBar: false });
    }
  };

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
