import { expect, it } from 'vitest'
import { type Argon2, loadArgon2 } from './argon2.ts'
import { runHashTask } from './hash-task.ts'

const argon2 = await loadArgon2()
const compare = (hash: string, password: string, library: Argon2 = argon2) =>
  runHashTask(library, { kind: 'compare', hash, password, isUsual: true })

it('hashes, and compares', async () => {
  const outcome = await runHashTask(argon2, { kind: 'hash', password: 'secret' })
  const hash = outcome.verdict === 'hashed' ? outcome.hash : expect.fail('no hash')
  expect(await compare(hash, 'secret')).toEqual({ verdict: 'compared', matches: true })
  expect(await compare(hash, 'Secret')).toEqual({ verdict: 'compared', matches: false })
})

it.each([
  ['a form that is not known', () => compare('$1$abcdefgh', 'secret'), 'the form of the hash is not known'],
  [
    'a library that fails',
    () =>
      runHashTask({ ...argon2, hash: () => Promise.reject(new Error('no memory')) }, { kind: 'hash', password: 'x' }),
    'no memory',
  ],
  [
    'a library that throws a text',
    () => runHashTask({ ...argon2, hash: () => Promise.reject('no memory') }, { kind: 'hash', password: 'x' }),
    'no memory',
  ],
])('has failed with %s, and throws nothing', async (_case, run, message) => {
  expect(await run()).toEqual({ verdict: 'failed', error: new Error(message) })
})
