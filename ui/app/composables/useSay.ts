// Speaks to screen readers, politely: at most one sentence a second, the newest of those that wait.
const spoken = ref('')
let next: string | undefined
let timer: ReturnType<typeof setTimeout> | undefined

function speak() {
  if (next === undefined) {
    timer = undefined
    return
  }
  // The same sentence twice is no change of the page; a space makes it one.
  spoken.value = next === spoken.value ? `${next}\u00a0` : next
  next = undefined
  timer = setTimeout(speak, 1000)
}

export interface Say {
  (text: string): void
  say: Say
  spoken: Readonly<Ref<string>>
}

const say = Object.assign((text: string) => {
  next = text
  timer ??= setTimeout(speak, 50)
}, { spoken }) as Say
say.say = say

export function useSay(): Say {
  return say
}
