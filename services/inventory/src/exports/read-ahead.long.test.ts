import { buffer } from 'node:stream/consumers'
import { FairGate } from '@trestle/common/capacity/fair-gate.ts'
import { describe, expect, it } from 'vitest'
import { serverBusy } from '../errors.ts'
import { readAhead, SpoolSpace } from './read-ahead.ts'

const MIB = 1_048_576
const sharing = (bytes: number, patienceMs = 60_000) => ({
  space: new SpoolSpace({ bytes, patienceMs }),
  reads: new FairGate({ slots: 1, patienceMs: 60_000, refuse: serverBusy }),
})
/** Yields pieces of different sizes whose bytes depend on their position. */
async function* source(count: number, onEnd = () => {}): AsyncGenerator<Uint8Array, void> {
  try {
    for (let n = 0; n < count; n++) yield Buffer.alloc(50_000 + n, n % 251)
  } finally {
    onEnd()
  }
}
/** Compares buffers with `equals`, because `toEqual` takes seconds for millions of bytes. */
const expectSame = (given: Buffer, wanted: Buffer) => expect(given.equals(wanted)).toBe(true)

/** One client gets at most half of the space, so two clients take it. */
const expectFree = (space: SpoolSpace, bytes: number) =>
  expect(['a', 'b'].map((client) => space.take(client, bytes / 2))).toEqual([true, true])

describe('readAhead', () => {
  it.each([
    ['memory', 3, 0],
    ['a file', 100, 64 * MIB],
    ['a file that is too small', 100, MIB],
    ['no file at all', 100, 0],
  ])('passes all bytes on in their order, by %s', async (_, count, bytes) => {
    expectSame(await buffer(readAhead(source(count), sharing(bytes))), await buffer(source(count)))
  })

  it('passes pieces that memory has no room for to a client that waits for them, without a file', async () => {
    const large = async function* () {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(100_000, n)
    }
    expectSame(await buffer(readAhead(large(), sharing(0, 1_000))), await buffer(large()))
  })

  it('reads to the end while the client takes nothing, and frees its slot', async () => {
    const shared = sharing(64 * MIB)
    const ended = Promise.withResolvers<void>()
    const slow = readAhead(
      source(200, () => ended.resolve()),
      shared,
    )
    const first = await slow.next()
    await ended.promise
    expectSame(await buffer(readAhead(source(2), shared)), await buffer(source(2)))
    const rest = await buffer(slow)
    expectSame(Buffer.concat([first.value ?? Buffer.of(), rest]), await buffer(source(200)))
    expectFree(shared.space, 64 * MIB)
  })

  it('fails when the space is used up and the client does not read, and frees the space', async () => {
    const shared = sharing(MIB, 20)
    const ended = Promise.withResolvers<void>()
    const stalled = readAhead(
      source(200, () => ended.resolve()),
      shared,
    )
    await stalled.next()
    await ended.promise
    await expect(buffer(stalled)).rejects.toThrow('read too slowly')
    expectFree(shared.space, MIB)
  })

  it('leaves half of the space to other clients while one reads nothing', async () => {
    const shared = {
      ...sharing(8 * MIB, 20),
      reads: new FairGate({ slots: 2, patienceMs: 60_000, refuse: serverBusy }),
    }
    const ended = Promise.withResolvers<void>()
    const stalled = readAhead(
      source(200, () => ended.resolve()),
      shared,
      'one',
    )
    await stalled.next()
    await ended.promise
    // This client's pieces fill half of the space until they are read.
    const filled = Promise.withResolvers<void>()
    const slow = readAhead(
      source(80, () => filled.resolve()),
      shared,
      'other',
    )
    const first = await slow.next()
    await filled.promise
    const rest = await buffer(slow)
    expectSame(Buffer.concat([first.value ?? Buffer.of(), rest]), await buffer(source(80)))
    await expect(buffer(stalled)).rejects.toThrow('read too slowly')
    expectFree(shared.space, 8 * MIB)
  })

  it('throws a failure of the source after the pieces before it', async () => {
    const failing = async function* () {
      yield Buffer.from('before')
      throw new Error('the source fails')
    }
    const pieces = readAhead(failing(), sharing(MIB))
    expect(await pieces.next()).toEqual({ done: false, value: Buffer.from('before') })
    await expect(pieces.next()).rejects.toThrow('the source fails')
  })

  it('ends the source when the client leaves', async () => {
    const ended = Promise.withResolvers<void>()
    const shared = sharing(MIB)
    const pieces = readAhead(
      source(1_000_000, () => ended.resolve()),
      shared,
    )
    await pieces.next()
    await pieces.return()
    await ended.promise
    expectFree(shared.space, MIB)
  })
})
