import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ForeignSource } from './foreign-user.ts'
import { type ExportedUser, type ExportLimits, readForeignUsers } from './read-foreign-users.ts'

async function read(source: ForeignSource, chunks: readonly (string | Buffer)[], limits?: ExportLimits) {
  const bytes = Readable.from(chunks.map((chunk) => Buffer.from(chunk)))
  const users: ExportedUser[] = []
  for await (const user of readForeignUsers(source, bytes, limits)) users.push(user)
  return users
}

const numbered = (...users: readonly unknown[]) => users.map((user, place) => ({ number: place + 1, user }))

describe('readForeignUsers', () => {
  it('closes the file where nobody reads its rows on', async () => {
    const { promise: closed, resolve: close } = Promise.withResolvers<string>()
    async function* rows() {
      try {
        yield Buffer.from('id,primary_email_address\n')
        for (let row = 0; ; row += 1) yield Buffer.from(`user_${row},${'x'.repeat(10_000)}\n`)
      } finally {
        close('closed')
      }
    }
    for await (const _user of readForeignUsers('clerk', rows())) break
    expect(await closed).toBe('closed')
  })

  it.each([
    ['firebase', '{"users":[{"localId":"a"},{"localId":"b"}]}', numbered({ localId: 'a' }, { localId: 'b' })],
    ['firebase', '{"users":[]}', []],
    [
      'keycloak',
      '\ufeff{"realm":"r","clients":[{"users":[{"id":"no"}]}],"users":[{"id":"a","credentials":[{"n":-1.5e3}]}],"more":[1]}\n',
      numbered({ id: 'a', credentials: [{ n: -1500 }] }),
    ],
    ['keycloak', '[{"id":"a","users":[1]},7,null]', numbered({ id: 'a', users: [1] }, 7, null)],
    ['auth0', '{"email":"a"}\n\n{"email":"b","users":[]}\n', numbered({ email: 'a' }, { email: 'b', users: [] })],
    ['auth0', ' [{"email":"a"},["b"]]', numbered({ email: 'a' }, ['b'])],
    ['auth0', '', []],
  ] as const)('reads the users of an export of %s: %s', async (source, text, users) => {
    expect(await read(source, [text])).toEqual(users)
  })

  it.each([
    ['firebase', '{"realm":"r"}', 'the file is no export of users of firebase'],
    ['firebase', '{"users":{"localId":"a"}}', 'the file is no export of users of firebase'],
    ['firebase', '7', 'the file is no export of users of firebase'],
    ['keycloak', 'no', 'the file is not JSON'],
    ['keycloak', '', 'the file is not JSON'],
    ['keycloak', '{"users":[{"id":"a"}', 'the file is not JSON'],
    ['keycloak', '{"users":[]} {"users":[]}', 'the file is not JSON'],
    ['auth0', '{"email":"a"}\n{"email":', 'the file is not JSON'],
    ['auth0', Buffer.from([0x7b, 0xff]), 'the file is not UTF-8'],
    ['auth0', Buffer.from([0x22, 0xc3]), 'the file is not UTF-8'],
  ] as const)('refuses another file for %s: %s', async (source, text, message) => {
    await expect(read(source, [text])).rejects.toThrow(new Error(message))
  })

  it('reads the same users wherever a chunk ends', async () => {
    const text = Buffer.from(
      '{"a":"é\\u00e9😀\\"","users":[{"id":"日本","n":12.5,"t":true,"__proto__":{"x":null}}],"b":1}',
    )
    const users = numbered(JSON.parse(text.toString()).users[0])
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 8 }), async (cuts) => {
        const ends = [...cuts.sort((one, two) => one - two), text.length]
        const chunks = ends.map((end, index) => text.subarray(ends[index - 1] ?? 0, end))
        expect(await read('firebase', chunks)).toEqual(users)
      }),
    )
  })

  it('drops a member called __proto__, so that no user inherits its values', async () => {
    const [first] = await read('keycloak', ['{"users":[{"__proto__":{"emailVerified":true}}]}'])
    expect(z.object({ emailVerified: z.unknown().optional() }).parse(first?.user)).toEqual({})
  })

  it('leaves out a user who is too long, and reads the others', async () => {
    const text = JSON.stringify({ users: [{ id: 'a' }, { id: 'b', names: ['1234', '1234'] }, { id: 'c' }] })
    expect(await read('keycloak', [text], { user: 40, value: 1_000 })).toEqual([
      { number: 1, user: { id: 'a' } },
      { number: 2, user: undefined },
      { number: 3, user: { id: 'c' } },
    ])
  })

  it('stops at a value that does not end', async () => {
    let sent = 0
    async function* endless() {
      yield Buffer.from('{"users":[{"id":"')
      for (;;) {
        sent += 1
        yield Buffer.alloc(100, 'x')
      }
    }
    const reading = readForeignUsers('keycloak', endless(), { user: 10, value: 1_000 }).next()
    await expect(reading).rejects.toThrow(new Error('a value has more than 1000 characters'))
    expect(sent).toBeLessThan(15)
  })

  it('reads an export that is larger than the memory of its thread', async () => {
    const module = JSON.stringify(new URL('./read-foreign-users.ts', import.meta.url))
    const worker = new Worker(
      `
      const { parentPort } = require('node:worker_threads')
      async function* exported() {
        yield Buffer.from('{"realm":"r","users":[')
        for (let i = 0; i < 600; i += 1)
          yield Buffer.from((i === 0 ? '' : ',') + JSON.stringify({ id: String(i), attributes: { text: ['é'.repeat(50_000)] } }))
        yield Buffer.from(']}')
      }
      import(${module}).then(async ({ readForeignUsers }) => {
        let count = 0
        for await (const { user } of readForeignUsers('keycloak', exported())) count += user.id === String(count) ? 1 : 0
        parentPort.postMessage(count)
      })`,
      { eval: true, resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 }, execArgv: [] },
    )
    const count = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    await worker.terminate()
    expect(count).toBe(600)
  })
})
