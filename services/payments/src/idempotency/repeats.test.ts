import { describe, expect, it } from 'vitest'
import type { Caller } from '../access/caller.ts'
import { createRepeats } from './repeats.ts'

function caller(changes: { key?: string; fingerprint?: number; mac?: number; path?: string } = {}): Caller {
  const { key = 'k', fingerprint = 1, mac = 1, path = '/merchants' } = changes
  return {
    keyMac: Buffer.alloc(32, mac),
    person: null,
    identityId: undefined,
    repeat: { method: 'POST', path, key, fingerprint: Buffer.alloc(32, fingerprint) },
  }
}

/** Calls that the test ends; the ones that began are in `begun`. */
function controlledCalls() {
  const begun: { done: () => void; fail: () => void }[] = []
  const call = () =>
    new Promise<string>((resolve, reject) => {
      const number = begun.length + 1
      begun.push({ done: () => resolve(`effect ${number}`), fail: () => reject(new Error(`failure ${number}`)) })
    })
  return { begun, call }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('createRepeats', () => {
  it('lets repeats wait for the first, then go on beside each other', async () => {
    const { run } = createRepeats()
    const { begun, call } = controlledCalls()
    const answers = Promise.all([1, 2, 3].map(() => run(caller(), call)))
    await settle()
    expect(begun).toHaveLength(1)
    begun[0]?.done()
    await settle()
    expect(begun).toHaveLength(3)
    for (const { done } of begun) done()
    expect(await answers).toEqual(['effect 1', 'effect 2', 'effect 3'])
  })

  it('lets them take turns after failures', async () => {
    const { run } = createRepeats()
    const { begun, call } = controlledCalls()
    const answers = [1, 2, 3, 4].map(() => run(caller(), call).catch(({ message }: Error) => message))
    for (const index of [0, 1]) {
      await settle()
      expect(begun).toHaveLength(index + 1)
      begun[index]?.fail()
    }
    await settle()
    expect(begun).toHaveLength(3)
    begun[2]?.done()
    await settle()
    expect(begun).toHaveLength(4)
    begun[3]?.done()
    expect(await Promise.all(answers)).toEqual(['failure 1', 'failure 2', 'effect 3', 'effect 4'])
  })

  it('holds nobody up whose key, body, path or client is another, or who has no key', async () => {
    const { run } = createRepeats()
    const { begun, call } = controlledCalls()
    const others = [
      caller(),
      caller({ key: 'l' }),
      caller({ fingerprint: 2 }),
      caller({ mac: 2 }),
      caller({ path: '/me/keys' }),
      { ...caller(), keyMac: null, person: 'john@example.com' },
      { ...caller(), repeat: undefined },
      { ...caller(), repeat: undefined },
    ]
    const answers = Promise.all(others.map((other) => run(other, call)))
    await settle()
    expect(begun).toHaveLength(8)
    for (const { done } of begun) done()
    expect(new Set(await answers).size).toBe(8)
  })

  it('409: ends the wait', async () => {
    const { run } = createRepeats(10)
    const { begun, call } = controlledCalls()
    const first = run(caller(), call)
    await expect(run(caller(), call)).rejects.toMatchObject({ status: 409, headers: { 'retry-after': '1' } })
    begun[0]?.done()
    expect(await first).toBe('effect 1')
    const next = run(caller(), call)
    begun[1]?.done()
    expect(await next).toBe('effect 2')
  })
})
