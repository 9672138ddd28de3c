import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { requestMalformed } from '../errors.ts'
import { LocationBody, readFileForm, readRest } from './forms.ts'

it('keeps the name of a location as it is, with blanks around it, so that a form sent as it came renames nothing', () => {
  const { code, name, active } = LocationBody.parse({ _csrf: 'c', _key: 'k', code: ' VAN ', name: ' The van\u00a0' })
  expect([code, name, active]).toEqual(['VAN', ' The van\u00a0', false])
})

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

describe('the bounds of readFileForm', () => {
  const part = (name: string, value: string) =>
    `--part\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const file = (name: string) =>
    `--part\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n1\r\n`
  const request = { headers: { 'content-type': 'multipart/form-data; boundary=part' } } as FastifyRequest
  const read = (parts: readonly string[]) => readFileForm(request, Readable.from([`${parts.join('')}--part--\r\n`]))

  it('reads ten fields of 1,023 bytes', async () => {
    const fields = Array.from({ length: 10 }, (_, at) => [`f${at}`, 'x'.repeat(1_023)] as const)
    expect(await read(fields.map(([name, value]) => part(name, value)))).toEqual(Object.fromEntries(fields))
  })

  it.each([
    ['a field of more than 1,024 bytes', [part('a', 'x'.repeat(1_025)), file('a.csv')]],
    ['eleven fields', Array.from({ length: 11 }, (_, at) => part(`f${at}`, '1'))],
  ])('400: refuses a form with %s, and cuts none', async (_what, parts) => {
    await expect(read(parts)).rejects.toThrow(requestMalformed())
  })
})
