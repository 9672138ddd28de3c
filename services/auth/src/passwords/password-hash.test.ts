import { HttpError } from '@trestle/common/errors/define-error.ts'
import { argon2i, hash as hashByReference } from 'argon2'
import { describe, expect, it } from 'vitest'
import { type Argon2, loadArgon2 } from './argon2.ts'
import { createPasswordHasher } from './password-hash.ts'

const real = await loadArgon2()

function createHasher(argon2: Argon2 = real) {
  return createPasswordHasher({ argon2, concurrency: 2, clock: () => 0 })
}

/** Counts the work that is asked of the library. */
function countWork() {
  const verified: string[] = []
  const argon2: Argon2 = {
    hash: real.hash,
    verify: (hash, password) => {
      verified.push(hash.slice(0, hash.lastIndexOf('$', hash.lastIndexOf('$') - 1)))
      return real.verify(hash, password)
    },
  }
  return { argon2, verified }
}

describe('verify', () => {
  it('knows the password of a hash', async () => {
    const hasher = createHasher()
    const hash = await hasher.hash('secret')
    expect(await hasher.verify(hash, 'secret')).toEqual({ matches: true, outdated: false })
    expect(await hasher.verify(hash, 'Secret')).toEqual({ matches: false, outdated: false })
  })

  it('tells when a hash that matches should be made anew', async () => {
    const hash = await hashByReference('older', { type: argon2i, memoryCost: 4096, timeCost: 3, parallelism: 1 })
    expect(await createHasher().verify(hash, 'older')).toEqual({ matches: true, outdated: true })
  })

  it.each([
    ['nobody', null],
    ['an algorithm that is not known', '$2b$10$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['a damaged hash', '$argon2id$v=19$m=19456,t=2,p=1$zzz'],
    ['no hash at all', ''],
  ])('does the same work for %s as for a user, and always refuses', async (_case, hash) => {
    const { argon2, verified } = countWork()
    const hasher = createHasher(argon2)
    expect(await hasher.verify(hash, 'secret')).toEqual({ matches: false, outdated: false })
    await hasher.verify(await hasher.hash('secret'), 'wrong')
    expect(verified).toEqual(['$argon2id$v=19$m=19456,t=2,p=1', '$argon2id$v=19$m=19456,t=2,p=1'])
  })
})

describe('a flood', () => {
  it('503: refuses with Retry-After what would wait more than 2 s, and counts what ran', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const events: string[] = []
    const hasher = createPasswordHasher({
      argon2: { hash: () => promise, verify: () => Promise.resolve(true) },
      concurrency: 2,
      clock: () => 0,
      onWork: (work, stage) => events.push(`${work} ${stage}`),
    })
    // 50 ms each and two at a time: 80 wait 2 s.
    const taken = Array.from({ length: 82 }, () => hasher.hash('x'))
    const refused = await hasher.hash('x').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(HttpError)
    expect(refused).toMatchObject({ status: 503, code: 'server_busy', headers: { 'retry-after': '3' } })
    resolve('hash')
    expect(await Promise.all(taken)).toHaveLength(82)
    expect(events.filter((event) => event === 'hash submitted')).toHaveLength(83)
    expect(events.filter((event) => event === 'hash completed')).toHaveLength(82)
  })
})
