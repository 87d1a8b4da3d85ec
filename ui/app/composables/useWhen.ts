// Times, durations and numbers in the language of the UI. Ages tick by themselves.
const now = ref(Date.now())
setInterval(() => { now.value = Date.now() }, 1000)

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [['day', 86_400], ['hour', 3600], ['minute', 60], ['second', 1]]

type When = string | number | Date | null | undefined
const msOf = (at: When): number | undefined => {
  if (at === null || at === undefined || at === '') return undefined
  const ms = new Date(at).getTime()
  return Number.isNaN(ms) ? undefined : ms
}

export function useWhen() {
  const { language } = usePreferences()
  const tags = computed(() => (language.value === 'vi' ? 'vi-VN' : 'en-GB'))
  const relative = computed(() => new Intl.RelativeTimeFormat(tags.value, { numeric: 'always', style: 'long' }))
  const rightNow = computed(() => new Intl.RelativeTimeFormat(tags.value, { numeric: 'auto' }).format(0, 'second'))
  const absolutely = computed(() => new Intl.DateTimeFormat(tags.value, { dateStyle: 'medium', timeStyle: 'medium' }))
  const zoned = computed(() => new Intl.DateTimeFormat(tags.value, { dateStyle: 'full', timeStyle: 'long' }))
  const clocked = computed(() => new Intl.DateTimeFormat(tags.value, { timeStyle: 'medium' }))
  const numbers = computed(() => new Intl.NumberFormat(tags.value))
  const unit = (amount: number, name: string) => new Intl.NumberFormat(tags.value, { style: 'unit', unit: name, unitDisplay: 'long', maximumFractionDigits: name === 'second' && amount < 10 ? 1 : 0 }).format(amount)

  /** A length of time in milliseconds, in its two greatest units. */
  function duration(ms: number | null | undefined): string {
    if (ms === null || ms === undefined || Number.isNaN(ms)) return '—'
    const length = Math.abs(ms)
    if (length < 1000) return unit(Math.round(length), 'millisecond')
    let rest = length / 1000
    if (rest < 60) return unit(rest < 10 ? rest : Math.round(rest), 'second')
    rest = Math.round(rest)
    const parts: string[] = []
    for (const [name, size] of STEPS) {
      const amount = Math.floor(rest / size)
      if (amount > 0) parts.push(unit(amount, name))
      else if (parts.length > 0) break
      rest -= amount * size
      if (parts.length === 2) break
    }
    return parts.join(' ')
  }

  function ago(at: When): string {
    const ms = msOf(at)
    if (ms === undefined) return '—'
    const seconds = Math.round((ms - now.value) / 1000)
    for (const [name, size] of STEPS) {
      if (Math.abs(seconds) >= size) return relative.value.format(Math.trunc(seconds / size), name)
    }
    return rightNow.value
  }

  const format = (with_: Ref<Intl.DateTimeFormat>) => (at: When) => {
    const ms = msOf(at)
    return ms === undefined ? '—' : with_.value.format(ms)
  }
  return {
    now: readonly(now),
    ago,
    absolute: format(absolutely),
    /** With the day of the week and the time zone. */
    exact: format(zoned),
    clock: format(clocked),
    duration,
    number: (n: number | null | undefined) => (n === null || n === undefined ? '—' : numbers.value.format(n)),
    percent: (n: number | null | undefined, digits = 0) =>
      n === null || n === undefined ? '—' : new Intl.NumberFormat(tags.value, { style: 'percent', maximumFractionDigits: digits }).format(n),
  }
}
