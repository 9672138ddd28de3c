import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RenderedPage, renderFrontPage } from '@trestle/common/documents/front-page.ts'
import { escapeHtml } from '@trestle/common/documents/html.ts'
import { Marked } from 'marked'
import { COPY_SCRIPT, renderCode } from './command-block.ts'

/** The path of a document of the checkout. No name begins with a dot, so it leads nowhere else. */
const DOCUMENT_PATH = /^\/((?!node_modules\/)(?:\w[\w-]*\/)*\w[\w-]*\.md)$/

/**
 * The page of a document of the checkout, as its file is now. Browsers save a file of Markdown instead of showing it.
 * @param root the folder of the checkout
 * @param urlPath the path of the URL, such as `/docs/quick-start/reserve-stock.md`
 * @returns undefined when there is no such document
 */
export async function renderGuide(root: string, urlPath: string): Promise<RenderedPage | undefined> {
  const [, path] = DOCUMENT_PATH.exec(urlPath) ?? []
  if (path === undefined) return undefined
  const file = await readFile(join(root, path), 'utf8').catch(() => undefined)
  if (file === undefined) return undefined
  const [, title = path, text = file] = /^# ([^\n]+)\n(.*)$/s.exec(file) ?? []
  return renderFrontPage({
    title,
    about: `From \`${path}\``,
    groups: [],
    back: { label: 'Start page', href: '/' },
    before: `<article>${await createMarkdown().parse(text)}</article>`,
    style: STYLE,
    script: COPY_SCRIPT,
  })
}

/**
 * Writes the HTML of a document. A table that is too wide takes the focus, so that the keyboard scrolls it.
 * Links lead to headings by their words. The page loads nothing, so it has the texts of pictures in place of
 * them.
 */
function createMarkdown(): Marked {
  let examples = 0
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      image: ({ text }) => escapeHtml(text),
      code: ({ text }) => renderExample(`example-${++examples}`, text),
      codespan: ({ text }) => `<code>${renderCode(text)}</code>`,
    },
    hooks: {
      postprocess: (html) =>
        html.replaceAll('<table>', '<div class="table" tabindex="0"><table>').replaceAll('</table>', '</table></div>'),
    },
  })
}

/** The first lines of an example leave room for the button at its right. */
function renderExample(id: string, text: string): string {
  return `<div class="example"><button class="quiet" data-copy="${id}" hidden>Copy</button><pre><code id="${id}">${renderCode(text)}</code></pre></div>\n`
}

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

const STYLE = `article { overflow-wrap: break-word }
article h2, article h3, article h4 { margin: 2rem 0 .5rem; font-size: 1.3rem; line-height: 1.3; color: var(--text) }
article h3 { font-size: 1.1rem } article h4 { font-size: 1rem }
article a { font-weight: inherit; overflow-wrap: break-word }
article :is(ul, ol) { padding-inline-start: 1.5rem }
article li { display: list-item; padding: 0 } article li + li { margin-top: .5rem; border: 0 } article li > a::after { content: none }
.example { display: flow-root; margin: 1rem 0; padding: .75rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius-small) }
.example button { float: inline-end; min-height: 2.25rem; margin: -.25rem -.5rem .25rem .75rem; padding: .3rem .6rem; background: var(--card) }
.example pre { margin: 0 } article code { overflow-wrap: anywhere }
.table { margin: 1rem 0; overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius-small) }
article table { border-collapse: collapse; min-width: 100% }
article th, article td { padding: .5rem .75rem; text-align: start; vertical-align: top; border-bottom: 1px solid var(--line) }
article td { min-width: 4rem } article td:first-child { min-width: 6rem } article td:nth-child(2) { min-width: 11rem } article tr:last-child td { border-bottom: 0 }
`
