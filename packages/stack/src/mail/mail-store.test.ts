import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { createMailStore, openMailStore } from './mail-store.ts'

removeFoldersAtEnd()

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

  it('keeps a malformed mail with empty addresses', async () => {
    const store = createMailStore(now)
    await store.add(Buffer.from([0, 255, 13]), [])
    expect(store.list()[0]).toEqual({
      from: '',
      to: [],
      cc: [],
      subject: '',
      html: null,
      attachments: [],
      id: 1,
      received: '2026-01-02T03:04:05.000Z',
      bytes: expect.any(Number),
      headers: [{ name: '\0\ufffd', value: '' }],
      text: null,
    })
  })
})

describe('openMailStore', () => {
  it('keeps mails for the next process, and no file of a mail that is removed or dropped', async () => {
    const folder = join(createFolder(), 'mails')
    const limits = { mailsMax: 3, bytesMax: 1_000_000 }
    const first = await openMailStore(folder, now, limits)
    for (const subject of ['a', 'b', 'c', 'd']) await first.add(raw(subject), ['x@example.com'])
    expect(first.remove(3)).toBe(true)
    expect([readdirSync(folder).sort(), statSync(join(folder, '4.json')).mode & 0o777]).toEqual([
      ['2.json', '4.json'],
      0o600,
    ])
    // An interrupted write leaves such a file.
    writeFileSync(join(folder, '5.json.new'), '{')

    const second = await openMailStore(folder, now, limits)
    expect(second.list()).toEqual(first.list())
    expect(second.findSource(4)).toEqual(raw('d'))
    await second.add(raw('e'), [])
    expect(second.list().map(({ id, subject }) => [id, subject])).toEqual([
      [5, 'e'],
      [4, 'd'],
      [2, 'b'],
    ])
    second.clear()
    expect(readdirSync(folder)).toEqual([])
    expect((await openMailStore(folder, now, limits)).list()).toEqual([])
  })

  it.each(['', '{', '{"received":"today"}'])('names a file that cannot be read as a mail: %s', async (text) => {
    const folder = createFolder()
    const file = join(folder, '1.json')
    writeFileSync(file, text)
    await expect(openMailStore(folder, now)).rejects.toEqual(
      new StackFailure([`${file} cannot be read as a mail. Remove the file.`]),
    )
  })
})
