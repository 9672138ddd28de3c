import { describe, expect, it } from 'vitest'
import { linksOf } from './mail-page.ts'
import { createMailStore } from './mail-store.ts'

const now = () => new Date('2026-01-02T03:04:05Z')
const raw = (subject: string) => Buffer.from(`Subject: ${subject}\r\n\r\nbody\r\n`)

describe('createMailStore', () => {
  it('keeps the newest mails within the limit of their number', async () => {
    const store = createMailStore(now, { mailsMax: 2, bytesMax: 1_000_000 })
    for (const subject of ['a', 'b', 'c']) await store.add(raw(subject), ['x@example.com'])
    expect(store.list().map(({ id, subject }) => [id, subject])).toEqual([
      [3, 'c'],
      [2, 'b'],
    ])
    expect(store.find(1)).toBeUndefined()
  })

  it('keeps the newest mails within the limit of their size, and always the last one', async () => {
    const store = createMailStore(now, { mailsMax: 10, bytesMax: raw('a').length * 2 })
    for (const subject of ['a', 'b', 'c']) await store.add(raw(subject), [])
    expect(store.list().map(({ subject }) => subject)).toEqual(['c', 'b'])
    await store.add(raw('d'.repeat(500)), [])
    expect(store.list().map(({ id }) => id)).toEqual([4])
  })

  it('keeps a malformed mail', async () => {
    const store = createMailStore(now)
    await store.add(Buffer.from([0, 255, 13]), [])
    expect(store.list()[0]).toMatchObject({ from: '', to: [], cc: [], subject: '', html: null, attachments: [] })
  })
})

describe('linksOf', () => {
  it.each([
    [
      { text: 'see https://a.example/x?y=1&z=2, or (http://b.example)', html: null },
      ['https://a.example/x?y=1&z=2', 'http://b.example'],
    ],
    [
      { text: null, html: `<a href="http://a/?x=1&amp;y=2">a</a> <A HREF='http://b/'>b</A>` },
      ['http://a/?x=1&y=2', 'http://b/'],
    ],
    [{ text: 'http://a/', html: '<a href="http://a/">a</a>' }, ['http://a/']],
    [{ text: null, html: '<a href="javascript:alert(1)">a</a><a href="mailto:x@y">b</a>' }, []],
    [{ text: null, html: null }, []],
  ])('%#', (mail, links) => {
    expect(linksOf(mail)).toEqual(links)
  })
})
