import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { requestMalformed } from '../errors.ts'
import { readFileForm, readRest } from './file-form.ts'

describe('readFileForm', () => {
  const request = { headers: { 'content-type': 'multipart/form-data; boundary=b' } } as FastifyRequest
  const form = (mode: Buffer) => {
    const field = Buffer.concat([Buffer.from('Content-Disposition: form-data; name="mode"\r\n\r\n'), mode])
    return new PassThrough().end(Buffer.concat([Buffer.from('--b\r\n'), field, Buffer.from('\r\n--b--\r\n')]))
  }

  it('reads a field in front of a file', async () => {
    expect(await readFileForm(request, form(Buffer.from('ins\u00e9rt')))).toEqual({ mode: 'ins\u00e9rt' })
  })

  it('refuses a field that is not UTF-8', async () => {
    const cause = new Error('a field is not UTF-8')
    await expect(readFileForm(request, form(Buffer.from([0xe9])))).rejects.toEqual(requestMalformed({ cause }))
  })
})

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
