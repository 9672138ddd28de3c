import { compile, type FormatCallback } from 'html-to-text'

/** Writes the address of a link on a line of its own, below its words: a mail program makes it a link again. */
const formatLink: FormatCallback = (element, walk, builder) => {
  let words = ''
  const address = element.attribs?.href ?? ''
  builder.pushWordTransform((word) => {
    words += word
    return word
  })
  walk(element.children, builder)
  builder.popWordTransform()
  if (address === '' || words === address) return
  builder.addLiteral(':')
  builder.addLineBreak()
  builder.addLiteral(address)
  builder.addLineBreak()
}

/** Characters of HTML. The parser's work grows with the square of elements that are never closed: here to 0.3 s. */
const INPUT_MAX = 100_000

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: 100, maxChildNodes: 10_000, ellipsis: '…' },
  formatters: { formatLink },
  selectors: [
    { selector: 'a', format: 'formatLink' },
    { selector: 'img', format: 'skip' },
    { selector: 'title', format: 'skip' },
    { selector: 'td', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'p', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
  ],
})

/** The plain-text part of a mail. What a broken template has beyond the limits is left out. */
export function htmlToText(html: string): string {
  return convert(html.slice(0, INPUT_MAX)).trim()
}
