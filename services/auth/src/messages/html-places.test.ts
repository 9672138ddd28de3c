import { anyText } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseTemplate, renderHtml, type TemplateVariables } from './mail-template.ts'
import { htmlToText } from './mailer.ts'

const LINK = 'https://auth.example/verify?token=t0k&type=signup&redirect_to=https://a.example/'
const TARGET = 'https://a.example/join?team=7&role=admin'
const html = (source: string, variables: TemplateVariables = {}) =>
  renderHtml(parseTemplate(source), { ConfirmationURL: LINK, RedirectTo: TARGET, ...variables })

/** The parameters of the first link, as a mail program follows it. */
const followed = (source: string, variables?: TemplateVariables) => {
  const address = /\bhttps:\S+/.exec(htmlToText(html(`<p>${source}</p>`, variables)))?.[0] ?? ''
  const { origin, pathname, searchParams, hash } = new URL(address)
  return { address: `${origin}${pathname}`, query: [...searchParams], hash }
}

describe('a value of a link', () => {
  it.each([
    ['a query', '<a href="https://a.example/?u={{ .ConfirmationURL }}">go</a>', [['u', LINK]]],
    ['a query in single quotes', "<A HREF = 'https://a.example/?u={{ .ConfirmationURL }}'>go</A>", [['u', LINK]]],
    ['a query without quotes', '<a href=https://a.example/?u={{ .ConfirmationURL }}>go</a>', [['u', LINK]]],
    [
      'a query behind an escaped parameter',
      '<a href="https://a.example/?k=1&amp;u={{ .ConfirmationURL }}&amp;z=2">go</a>',
      [
        ['k', '1'],
        ['u', LINK],
        ['z', '2'],
      ],
    ],
    [
      'the query of a link that is a value itself',
      '<a href="{{ .ConfirmationURL }}&next={{ .RedirectTo }}">go</a>',
      [
        ['token', 't0k'],
        ['type', 'signup'],
        ['redirect_to', 'https://a.example/'],
        ['next', TARGET],
      ],
    ],
    [
      'a query that only one branch begins',
      '<a href="https://a.example/{{ if .RedirectTo }}?n={{ .RedirectTo }}{{ end }}&m={{ .RedirectTo }}">go</a>',
      [
        ['n', TARGET],
        ['m', TARGET],
      ],
    ],
    ['a query of a reference', '<a href="https://a.example/&quest;u={{ .ConfirmationURL }}">go</a>', [['u', LINK]]],
    ['an address of references', '<p>https:&#47;&#x2F;a.example/?u&equals;{{ .ConfirmationURL }}</p>', [['u', LINK]]],
    ['an address in the text', 'https://a.example/?u={{ .ConfirmationURL }} soon', [['u', LINK]]],
    ['a path', '<a href="https://a.example/{{ .RedirectTo }}">go</a>', []],
  ])('adds no parameter in %s', (_place, source, query) => {
    expect(followed(source).query).toEqual(query)
  })

  it('is the whole fragment behind a #', () => {
    expect(followed('<a href="https://a.example/#u={{ .ConfirmationURL }}">go</a>').hash).toBe(
      `#u=${encodeURIComponent(LINK)}`,
    )
  })

  it('is the only value of its parameter, whatever its text is', () => {
    fc.assert(
      fc.property(anyText(), (value) => {
        const { query } = followed('<a href="https://a.example/?u={{ .X }}&amp;z={{ .X }}">go</a>', { X: value })
        expect(query).toEqual([
          ['u', value.toWellFormed()],
          ['z', value.toWellFormed()],
        ])
      }),
    )
  })

  it('stays in its path, whatever its text is', () => {
    fc.assert(
      fc.property(anyText(), (value) => {
        const { query, hash } = followed('<a href="https://a.example/p{{ .X }}">go</a>', { X: value })
        expect({ query, hash }).toEqual({ query: [], hash: '' })
      }),
    )
  })
})

describe('a value behind a host', () => {
  const SITE = { SiteURL: 'https://a.example' }
  it.each([
    ['', ''],
    ['.evil.example', '/.evil.example'],
    ['@evil.example/', '/@evil.example/'],
    [':80@evil.example/', '/:80@evil.example/'],
    ['\\@evil.example', '/%5C@evil.example'],
    ['//evil.example', '//evil.example'],
    ['evil', '/evil'],
    ['?a=1', '/%3Fa=1'],
    ['/join', '/join'],
  ])('begins the path of a link: %s', (x, path) => {
    for (const before of ['{{ .SiteURL }}', 'https://a.example', 'HTTPS:\\\\a.example', '//a.example']) {
      const start = before.startsWith('{{') ? SITE.SiteURL : before
      expect(html(`<a href="${before}{{ .X }}">`, { ...SITE, X: x })).toBe(`<a href="${start}${path}">`)
    }
    expect(html('Go to {{ .SiteURL }}{{ .X }}', { ...SITE, X: x })).toBe(`Go to https://a.example${path}`)
  })

  it.each([
    ['https://{{ .X }}.a.example/', 'shop', 'https://shop.a.example/'],
    ['https://{{ .X }}.a.example/', 'evil.example/', 'https://evil.example%2F.a.example/'],
    ['https://{{ .X }}.a.example/', 'x@evil.example\\', 'https://x%40evil.example%5C.a.example/'],
    ['https://shop-{{ .X }}.a.example/', '7', 'https://shop-7.a.example/'],
    ['https://shop-{{ .X }}.a.example/', '7.evil.example#', 'https://shop-7.evil.example%23.a.example/'],
    ['https://a.example:{{ .X }}/', '8080', 'https://a.example:8080/'],
    ['https://a.example:{{ .X }}/', '@evil.example', 'https://a.example:%40evil.example/'],
    ['https:{{ .X }}', '//evil.example', 'https:%2F%2Fevil.example'],
  ])('is a part of a host that goes on, in %s with %s', (source, x, address) => {
    expect(html(`<a href="${source}">`, { X: x })).toBe(`<a href="${address}">`)
  })

  it('leads to the same host, whatever its text is', () => {
    fc.assert(
      fc.property(anyText(), (value) => {
        const variables = { ...SITE, X: value }
        const hrefs = ['{{ .SiteURL }}{{ .X }}', 'https://{{ .X }}.a.example/'].map((source) => {
          const href = /href="([^"]*)"/.exec(html(`<a href="${source}">`, variables))?.[1] ?? ''
          return URL.parse(href.replaceAll('&amp;', '&').replaceAll('&#39;', "'"))?.hostname ?? 'a.example'
        })
        expect(hrefs.filter((host) => host !== 'a.example' && !host.endsWith('.a.example'))).toEqual([])
      }),
    )
  })
})

describe('a place of HTML', () => {
  it.each([
    ['a whole address', '<a href="{{ .ConfirmationURL }}">', `<a href="${LINK.replaceAll('&', '&amp;')}">`],
    ['the address of an app', '<a href="{{ .X }}">', '<a href="org.app://in?a=1&amp;b=%22">', 'org.app://in?a=1&b="'],
    ['an address behind a line', '<a href="&NewLine;{{ .X }}">', '<a href="&NewLine;/verify?a=1">', '/verify?a=1'],
    [
      'an address that runs behind a tab',
      '<a href="&Tab;{{ .X }}">',
      '<a href="&Tab;#ZgotmplZ">',
      'javascript:alert(1)',
    ],
    ['a path with letters', '<a href="/caf&#233;/{{ .X }}">', '<a href="/caf&#233;/a/b%3Fc">', 'a/b?c'],
    ['a fragment of a reference', '<a href="/&num;u={{ .X }}">', '<a href="/&num;u=a%26b%3Dc">', 'a&b=c'],
    ['a title', '<title>&amp{{ .X }}</title>', '<title>&amp&lt;b&gt;</title>', '<b>'],
    ['an address that runs', '<a href="{{ .X }}">', '<a href="#ZgotmplZ">', ' java\nscript:alert(1)'],
    ['a scheme of two values', '<a href="{{ .Y }}{{ .X }}">', '<a href="java#ZgotmplZ">', 'script:alert(1)'],
    [
      'a mail address',
      '<a href="mailto:{{ .X }}?subject=a">',
      '<a href="mailto:a+b@c.example?subject=a">',
      'a+b@c.example',
    ],
    ['a picture', '<img src="https://a.example/{{ .X }}.png">', '<img src="https://a.example/a/b%3Fc.png">', 'a/b?c'],
    [
      'a list of pictures',
      '<img srcset="a.png?x=1 1x, b.png?n={{ .X }} 2x">',
      '<img srcset="a.png?x=1 1x, b.png?n=1%2C%202 2x">',
      '1, 2',
    ],
    ['an attribute', '<p title="{{ .X }}">', '<p title="&quot;&gt;&lt;b a=1&amp;c">', '"><b a=1&c'],
    ['an attribute without quotes', '<p title={{ .X }} id=a>', '<p title=a&#32;b&#61;c id=a>', 'a b=c'],
    ['an empty attribute without quotes', '<p title={{ .X }} id=a>', '<p title=ZgotmplZ id=a>', ''],
    ['the name of an attribute', '<p {{ .X }}="a">', '<p ZgotmplZ="a">', 'onclick'],
    ['the name of a tag', '<{{ .X }}>', '<ZgotmplZ>', 'script'],
    ['a style', '<p style="color: {{ .X }}">', '<p style="color: #0a0">', '#0a0'],
    ['a style that would end', '<p style="color: {{ .X }}">', '<p style="color: ZgotmplZ">', 'red; position: fixed'],
    [
      'a picture of a style',
      `<p style="background: url('https://a.example/?n={{ .X }}')">`,
      `<p style="background: url('https://a.example/?n=%27%29%3Ba')">`,
      "');a",
    ],
    [
      'a style sheet',
      '<style>p { color: {{ .X }} }</style>{{ .X }}',
      '<style>p { color: ZgotmplZ }</style>&lt;/style&gt;',
      '</style>',
    ],
    [
      'JSON of a mail',
      '<script type="application/ld+json">{"url":"{{ .X }}"}</script>',
      '<script type="application/ld+json">{"url":"\\u0022\\u003c\\u002fscript\\u003e"}</script>',
      '"</script>',
    ],
    ['a script', "<script>/* it's */ f({{ .X }})</script>", `<script>/* it's */ f("a\\u0027b")</script>`, "a'b"],
    ['an event', '<p onclick="f({{ .X }})">', '<p onclick="f(&quot;a\\u0022\\u0029&quot;)">', 'a")'],
    ['a title', '<title>{{ .X }}</title><p>{{ .X }}', '<title>&lt;/title&gt;</title><p>&lt;/title&gt;', '</title>'],
    ['a comment', '<!-- <a href="{{ .X }}"> --><p>{{ .X }}', '<!-- <a href="--&gt;"> --><p>--&gt;', '-->'],
    [
      'HTML for Outlook',
      '<!--[if mso]><a href="https://a.example/?u={{ .X }}"><![endif]-->',
      '<!--[if mso]><a href="https://a.example/?u=a%26b"><![endif]-->',
      'a&b',
    ],
    [
      'HTML for others than Outlook',
      '<!--[if !mso]><!--><a href="?u={{ .X }}"><!--<![endif]--><p>{{ .X }}',
      '<!--[if !mso]><!--><a href="?u=a%26b"><!--<![endif]--><p>a&amp;b',
      'a&b',
    ],
    [
      'text behind a sign that opens no tag',
      '1 < 2 {{ .X }} <br/>{{ .X }}</p>{{ .X }}',
      '1 < 2 &amp; <br/>&amp;</p>&amp;',
      '&',
    ],
    ['text behind a declaration', '<!DOCTYPE html><p class>{{ .X }}', '<!DOCTYPE html><p class>&amp;', '&'],
    [
      'an address of a custom attribute',
      '<p data-image-url="https://a.example/?n={{ .X }}">',
      '<p data-image-url="https://a.example/?n=a%26b">',
      'a&b',
    ],
    [
      'an address of a name space',
      '<v:rect xlink:href="https://a.example/?n={{ .X }}">',
      '<v:rect xlink:href="https://a.example/?n=a%26b">',
      'a&b',
    ],
  ])('is known to be %s', (_place, source, expected, value = '') => {
    expect(html(source, { X: value, Y: 'java' })).toBe(expected)
  })
})
