import { describe, expect, it } from 'vitest'
import { codeOf, linksOf } from './mail-page.ts'

describe('linksOf', () => {
  it.each([
    [
      { text: 'see https://a.example/x?y=1&z=2, or (http://b.example)', html: null },
      [{ url: 'https://a.example/x?y=1&z=2' }, { url: 'http://b.example' }],
    ],
    [
      {
        text: null,
        html: `<a href="http://a/?x=1&amp;y=2">a &amp; <b>b</b></a> <A class=x HREF='http://b/'>http://b/</A>`,
      },
      [{ url: 'http://a/?x=1&y=2', label: 'a & b' }, { url: 'http://b/' }],
    ],
    [{ text: 'http://a/', html: '<a href="http://a/">a</a>' }, [{ url: 'http://a/', label: 'a' }]],
    [{ text: null, html: '<a href="javascript:alert(1)">a</a><a href="mailto:x@y">b</a>' }, []],
    [{ text: null, html: null }, []],
  ])('finds in %j the links %j', (mail, links) => {
    expect(linksOf(mail)).toEqual(links)
  })

  it.each([
    ['http://auth/verify?token=a&type=signup'],
    ['http://shop/?code=1'],
    ['http://payments/invitations/0123456789abcdef_-xyz'],
  ])('puts %s first, before what the mail names earlier', (url) => {
    const text = `Welcome at http://site.example/welcome-to-you. Open ${url} now.`
    expect(linksOf({ text, html: null }).map((link) => link.url)).toEqual([url, 'http://site.example/welcome-to-you'])
  })

  it('puts links of the HTML before addresses that are only written', () => {
    const mail = { text: 'http://written/', html: '<a href="http://clickable/">Go</a>' }
    expect(linksOf(mail)).toEqual([{ url: 'http://clickable/', label: 'Go' }, { url: 'http://written/' }])
  })
})

describe('codeOf', () => {
  it.each([
    ['<p>Or enter this code: <strong>123456</strong></p>', null, '123456'],
    ['<b> 0042 </b>', null, '0042'],
    [null, 'Or enter this code: 987654', '987654'],
    ['<strong>2026 offers</strong>', 'Call 12345678 today', undefined],
    ['<strong>123</strong>', 'code: 12345678901', undefined],
    [null, null, undefined],
  ])('of the HTML %j and the text %j is %j', (html, text, code) => {
    expect(codeOf({ html, text })).toBe(code)
  })
})
