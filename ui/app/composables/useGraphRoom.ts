// How high the picture can be: down to the lower edge of the window, whatever stands above it; or all of the screen.
import type { Ref } from 'vue'

/** How wide the window is, as it changes. */
export function useWindowWidth() {
  const width = ref(window.innerWidth)
  const read = () => { width.value = window.innerWidth }
  window.addEventListener('resize', read)
  onScopeDispose(() => window.removeEventListener('resize', read))
  return { width }
}

export function useGraphRoom({ body, tools, section }: { body: Readonly<Ref<HTMLElement | null>>; tools: Readonly<Ref<HTMLElement | null>>; section: Readonly<Ref<HTMLElement | null>> }) {
  const room = ref(480)
  const whole = ref(false)
  const canFill = document.fullscreenEnabled

  function measure() {
    if (!body.value) return
    const top = body.value.getBoundingClientRect().top + (whole.value ? 0 : window.scrollY)
    const least = window.innerWidth < 600 ? 400 : 300
    room.value = Math.max(least, Math.round(window.innerHeight - top - (whole.value ? 8 : 20)))
  }
  /** Nothing but the picture on the screen: then 500 steps fitted into it can still be told apart. */
  function fillScreen() {
    if (document.fullscreenElement) void document.exitFullscreen()
    else void section.value?.requestFullscreen()
  }
  function filled() {
    whole.value = document.fullscreenElement === section.value
    void nextTick(measure)
  }

  const above = new ResizeObserver(measure)
  watch(tools, (element) => { if (element) above.observe(element) })
  onMounted(() => {
    measure()
    above.observe(document.documentElement)
    window.addEventListener('resize', measure)
    document.addEventListener('fullscreenchange', filled)
  })
  onBeforeUnmount(() => {
    above.disconnect()
    window.removeEventListener('resize', measure)
    document.removeEventListener('fullscreenchange', filled)
  })
  return { room, whole, canFill, fillScreen }
}
