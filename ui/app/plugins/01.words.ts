import { createI18n } from 'vue-i18n'
import { catalogues } from '~/utils/catalogues'

export default defineNuxtPlugin((nuxt) => {
  const { language, theme, dense } = usePreferences()
  const i18n = createI18n({
    legacy: false,
    locale: language.value,
    fallbackLocale: 'en',
    messages: catalogues(),
    // A missing word is a failure of `npm run check`; while pages are written the key itself is shown.
    missingWarn: false,
    fallbackWarn: false,
    warnHtmlMessage: false,
  })
  nuxt.vueApp.use(i18n)
  const root = document.documentElement
  watch(language, (now) => {
    i18n.global.locale.value = now
    root.lang = now
  }, { immediate: true })
  watch(theme, (now) => { root.dataset.theme = now }, { immediate: true })
  watch(dense, (now) => { root.dataset.rows = now ? 'compact' : 'comfortable' }, { immediate: true })
  return { provide: { words: i18n.global } }
})
