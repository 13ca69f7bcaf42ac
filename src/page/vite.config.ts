import { defineConfig } from "vite";

// The page is served at /ui/VIEW, and from a folder in VS Code, under a policy without inline scripts and styles, so nothing is inlined.
export default defineConfig({
  base: "./",
  publicDir: false,
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    outDir: "../hunchd/page/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: true,
  },
});
