import { fileURLToPath } from 'node:url'

const server = process.env.CHANCERY_SERVER ?? 'http://127.0.0.1:8080'

// In production the Rust server hands out the files and answers /v1 itself; only `nuxt dev` has to pass requests on.
const passOn = { target: server, changeOrigin: false, ws: false }

export default defineNuxtConfig({
  compatibilityDate: '2026-01-01',
  srcDir: 'app/',
  // Its own folder for bin/ui, so that a dev server which runs meanwhile keeps its files.
  buildDir: process.env.CHANCERY_BUILD_DIR ?? '.nuxt',
  ssr: false,
  telemetry: false,
  devtools: { enabled: false },
  modules: ['@nuxt/icon'],
  components: [{ path: '~/components', pathPrefix: false }],
  alias: {
    '@chancery/api': fileURLToPath(new URL('./api/src/index.ts', import.meta.url)),
  },
  css: ['~/assets/css/fonts.css', '~/assets/css/tokens.css', '~/assets/css/base.css'],
  icon: {
    provider: 'none',
    fallbackToApi: false,
    mode: 'svg',
    clientBundle: { scan: { globInclude: ['app/**/*.{vue,ts}'], globExclude: ['node_modules', '.nuxt', '.output'] }, sizeLimitKb: 512 },
  },
  // While pages are written, an icon that is new since the start comes from the dev server.
  $development: { icon: { provider: 'server', serverBundle: 'local' } },
  app: {
    head: {
      charset: 'utf-8',
      viewport: 'width=device-width, initial-scale=1',
      title: 'Chancery',
      link: [{ rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }],
    },
  },
  // The same sources make the same files; nothing asks which build this is.
  buildId: 'chancery',
  experimental: { appManifest: false, entryImportMap: false },
  typescript: { strict: true, typeCheck: false },
  vite: {
    define: { __VUE_I18N_FULL_INSTALL__: 'false', __VUE_I18N_LEGACY_API__: 'false', __INTLIFY_PROD_DEVTOOLS__: 'false' },
    server: { proxy: { '/v1': passOn, '/docs': passOn, '/metrics': passOn } },
    // A cold page asks for a dozen files and not for a hundred: one sheet of styles, one piece for what all pages share, one for each area.
    build: {
      cssCodeSplit: false,
      rolldownOptions: {
        output: {
          codeSplitting: {
            groups: [
              { name: 'vendor', test: /node_modules[\\/](?!(uplot|yaml|mermaid)[\\/])/, priority: 30 },
              { name: 'shell', test: /app[\\/](components[\\/](base|shell)|composables|utils[\\/][\w-]+\.ts|layouts|plugins|middleware)/, priority: 20 },
              { name: 'words', test: /[\\/]i18n[\\/](en|vi)[\\/]/, priority: 20 },
              { name: 'graph', test: /app[\\/](components|utils)[\\/]graph/, priority: 10 },
              { name: 'gov', test: /app[\\/](components|utils)[\\/]gov/, priority: 10 },
              { name: 'flows', test: /app[\\/](components|utils)[\\/]flows/, priority: 10 },
              { name: 'rooms', test: /app[\\/](components[\\/]rooms|utils[\\/](rooms|verify))/, priority: 10 },
            ],
          },
        },
      },
    },
    optimizeDeps: { include: ['vue-i18n', 'openapi-fetch', 'uplot', '@tanstack/vue-virtual'] },
  },
  nitro: { preset: 'static', prerender: { routes: ['/'], crawlLinks: false } },
})
