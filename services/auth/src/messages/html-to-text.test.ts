import { describe, expect, it } from 'vitest'
import { htmlToText } from './mailer.ts'

describe('htmlToText', () => {
  it.each([
    ['<h2>Title</h2>\n<p>One &amp; two</p>', 'Title\n\nOne & two'],
    ['<p><a href="https://h/?a=1&amp;b=2">Follow</a></p>', 'Follow:\nhttps://h/?a=1&b=2'],
    ["<a class='x' href='https://h/'>https://h/</a>", 'https://h/'],
    ['<style>p { color: red }</style><p>x<br>y</p>', 'x\ny'],
    ['&#39;&#x27;&lt;&quot;&nbsp;&copy;&unknown;', `''<"\u00a0©&unknown;`],
    ['<ul><li>one</li><li>two</li></ul>', '* one\n * two'],
    ['<table><tr><td>one</td><td>two</td></tr></table>', 'one\ntwo'],
    ['<!--[if mso]><p>Outlook</p><![endif]--><p>others</p>', 'others'],
    ['<p>Take <a href="https://h/">this link</a> soon.</p>', 'Take this link:\nhttps://h/\nsoon.'],
    ['plain', 'plain'],
  ])('%j', (html, text) => {
    expect(htmlToText(html)).toBe(text)
  })

  it('leaves out what elements hold that are nested more than a hundred deep', () => {
    expect(htmlToText(`<p>one</p>${'<div>'.repeat(101)}two`)).toBe('one\n…')
  })

  it('leaves out what stands beyond 100,000 characters', () => {
    expect(htmlToText(`one${' '.repeat(100_000)}two`)).toBe('one')
  })
})
