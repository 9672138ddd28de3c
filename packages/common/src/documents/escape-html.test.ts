import { expect, it } from 'vitest'
import { breakable, escapeHtml } from './escape-html.ts'

it('escapes what has a meaning in the content or in an attribute of HTML', () => {
  expect(escapeHtml(`<a href="x" title='y'>&</a>`)).toBe(
    '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;&lt;/a&gt;',
  )
})

it('lets lines break behind the signs of an address, and escapes it', () => {
  expect(breakable('ada@example.com')).toBe('ada@<wbr>example.<wbr>com')
  expect(breakable('http://x/a?b=<c>&d="')).toBe('http://x/<wbr>a?<wbr>b=<wbr>&lt;c&gt;&amp;<wbr>d=<wbr>&quot;')
})
