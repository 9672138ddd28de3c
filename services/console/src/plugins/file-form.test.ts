import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readRest } from './file-form.ts'

describe('readRest', () => {
  it.each([
    ['longer than a client may take', { ms: 10, bytes: 1_000 }, 10],
    ['larger than a client may send', { ms: 60_000, bytes: 1_000 }, 1_001],
  ])('cuts the connection of a form whose rest is %s', async (_what, bounds, sent) => {
    const body = new PassThrough()
    const closed = once(body, 'close')
    readRest(body, bounds)
    body.write(Buffer.alloc(sent))
    await closed
    expect([body.destroyed, body.readableEnded]).toEqual([true, false])
  })

  it('reads to its end what follows a file within the bounds', async () => {
    const body = new PassThrough()
    readRest(body, { ms: 60_000, bytes: 1_000 })
    await once(body.end(Buffer.alloc(1_000)), 'close')
    expect(body.readableEnded).toBe(true)
  })
})
