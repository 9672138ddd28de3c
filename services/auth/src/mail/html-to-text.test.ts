import { describe, expect, it } from 'vitest'
import { htmlToText } from './html-to-text.ts'

describe('htmlToText', () => {
  it.each([
    ['<h2>Title</h2>\n<p>One &amp; two</p>', 'Title\nOne & two'],
    ['<p><a href="https://h/?a=1&amp;b=2">Follow</a></p>', 'Follow:\nhttps://h/?a=1&b=2'],
    ["<a class='x' href='https://h/'>https://h/</a>", 'https://h/'],
    ['<style>p { color: red }</style><p>x<br>y</p>', 'x\ny'],
    ['&#39;&lt;&quot;&nbsp;&unknown;&#9999999;', `'<" &unknown;&#9999999;`],
    ['plain', 'plain'],
  ])('%j', (html, text) => {
    expect(htmlToText(html)).toBe(text)
  })
})
