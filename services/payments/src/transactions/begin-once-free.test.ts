import { expect, it } from 'vitest'
import { beginOnceFree } from './begin-once-free.ts'

it.each([
  { runningFor: 0, begun: 'began', waits: 0 },
  { runningFor: 3, begun: 'began', waits: 3 },
  { runningFor: 20, begun: 'began', waits: 20 },
  { runningFor: 21, begun: 'running', waits: 20 },
])('waits at most twenty times 250 ms for another request: $runningFor', async ({ runningFor, begun, waits }) => {
  const waited: number[] = []
  const answers = [...Array.from({ length: runningFor }, () => 'running'), 'began']
  const result = await beginOnceFree({
    begin: async () => answers.shift(),
    isRunning: (answer) => answer === 'running',
    wait: async (ms) => void waited.push(ms),
  })
  expect([result, waited]).toEqual([begun, Array.from({ length: waits }, () => 250)])
})
