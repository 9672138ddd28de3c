import { readFile } from 'node:fs/promises'
import { getPriority, platform } from 'node:os'
import { expect, it } from 'vitest'
import { listWorkers, lowerHashThreads } from './hash-threads.ts'

it('puts the worker threads, and no other, behind the thread that answers requests', async () => {
  const before = getPriority()
  await readFile(import.meta.filename)
  lowerHashThreads()
  const workers = listWorkers()
  if (platform() === 'linux') expect(workers.length).toBeGreaterThan(0)
  for (const worker of workers) expect(getPriority(worker)).toBe(Math.min(before + 10, 19))
  expect(getPriority()).toBe(before)
})
