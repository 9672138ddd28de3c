import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Args, accepts, Controller, p } from '../src/endpoints.ts'
import { VALUE_TEXTS } from '../src/error-texts.ts'
import { type EveryInterface, everyInterface } from './every-interface.ts'
import { issueBody } from './whole-answers.ts'

class Forms extends Controller {
  static POST_lists = accepts({
    keywords: z.object({ f: p.list(z.file()).optional(), o: p.list(z.object({ a: z.int() })).optional() }),
  })
  POST_lists(...[{ f, o }]: Args<typeof Forms.POST_lists>) {
    return [f?.map(({ name }) => name) ?? null, o ?? null]
  }

  static POST_empty = accepts({
    keywords: z.object({ n: p.int().optional(), s: z.string().optional(), b: p.bool().optional() }),
    aliases: { other: 's' },
    emptyAsAbsent: true,
  })
  static POST_any = accepts({ keywords: z.record(z.string(), z.string()), emptyAsAbsent: true })
  POST_any(...[keywords]: Args<typeof Forms.POST_any>) {
    return keywords
  }
  POST_empty(...[keywords]: Args<typeof Forms.POST_empty>) {
    return keywords
  }
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({ modules: { index: { Forms } } })
})
afterAll(() => all.close())

describe('forms', () => {
  const type = 'multipart/form-data; boundary=X'
  const post = (path: string, body: string, sent = type) =>
    all
      .ask({ method: 'POST', path: `/forms/${path}`, headers: { 'content-type': sent }, body })
      .then(({ status, body: text }) => [status, JSON.parse(text)])
  const file = (name: string) =>
    `--X\r\nContent-Disposition: form-data; name="f"; filename="${name}"\r\n\r\n${name}\r\n`

  it.each([
    [[''], [null, null]],
    [['a.txt'], [['a.txt'], null]],
    [
      ['a.txt', 'b.txt'],
      [['a.txt', 'b.txt'], null],
    ],
  ])('200: the files %j are a list', async (names, answer) => {
    expect(await post('lists', `${names.map(file).join('')}--X--`)).toEqual([200, answer])
  })

  it('200: one JSON object is a list of one', async () => {
    expect(await post('lists', '{"o":{"a":1}}', 'application/json')).toEqual([200, [null, [{ a: 1 }]]])
  })

  it.each([
    ['a form', 'n=&s=&b=', 'application/x-www-form-urlencoded'],
    ['multipart', '--X\r\nContent-Disposition: form-data; name="n"\r\n\r\n\r\n--X--', type],
  ])('200: an empty field of %s counts as absent where a handler says so', async (_name, body, sent) => {
    expect(await post('empty', body, sent)).toEqual([200, {}])
  })

  it('200: an empty parameter counts as absent there too, but a bare name does not', async () => {
    expect(await post('empty?n=&b', '', 'text/plain')).toEqual([200, { b: true }])
  })

  it.each([
    ['a form', 'x=&n=1', 'application/x-www-form-urlencoded'],
    ['multipart', '--X\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n--X--', type],
  ])('400: an empty field of %s is refused there when its name is unknown', async (_name, body, sent) => {
    expect(await post('empty', body, sent)).toEqual([400, issueBody('x', VALUE_TEXTS.unknown)])
  })

  it('400: an empty parameter is refused there when its name is unknown, as one with a value', async () => {
    expect(await post('empty?x=', '', 'text/plain')).toEqual([400, issueBody('x', VALUE_TEXTS.unknown)])
    expect(await post('empty?x=1', '', 'text/plain')).toEqual([400, issueBody('x', VALUE_TEXTS.unknown)])
  })

  it('200: an empty value of an alias counts as absent there, and of any name where all are taken', async () => {
    expect(await post('empty?other=', '', 'text/plain')).toEqual([200, {}])
    expect(await post('any?x=&y=1', '', 'text/plain')).toEqual([200, { y: '1' }])
  })

  it('200: an empty text of JSON stays', async () => {
    expect(await post('empty', '{"s":""}', 'application/json')).toEqual([200, { s: '' }])
  })

  it.each(['us-ascii', 'US-ASCII', '"utf-8"'])('200: takes a form in %s', async (charset) => {
    const sent = `application/x-www-form-urlencoded; charset=${charset}`
    expect(await post('empty', 's=a', sent)).toEqual([200, { s: 'a' }])
  })
})
