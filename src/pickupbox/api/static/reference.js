// Draws the reference from the document beside it. Scalar asks nobody but this address: no fonts, no proxy, no agent.
const place = document.getElementById("reference");
const { document: url, try: mayTry } = place.dataset;
place.replaceChildren();
Scalar.createApiReference("#reference", {
  url,
  theme: "none",
  layout: "modern",
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  hideTestRequestButton: mayTry !== "yes",
  persistAuth: false,
  defaultOpenAllTags: true,
  operationTitleSource: "summary",
  documentDownloadType: "direct",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  authentication: { preferredSecurityScheme: "ApiKey" },
});
