import { defineConfig } from "vite";

// The page is served below /ui/ under a policy without inline scripts and styles, so nothing is inlined.
export default defineConfig({
  base: "/ui/",
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
