import { accepts } from '../binding/accepts.ts'
import { Controller } from '../controller.ts'
import type { ControllerClass } from '../routing/table.ts'

/**
 * Creates a controller that shows the API. With `export const Docs = docsController()`, `/docs` answers with a page and
 * `/docs/openapi.json` with the document. The document lists neither of these URLs.
 */
export function docsController(): ControllerClass {
  return class Docs extends Controller {
    static Openapi_json = class extends Controller {
      static GET = accepts({ hidden: true })
      GET() {
        return this.application.openapi()
      }
    }

    static GET = accepts({ hidden: true, type: 'text/html' })
    GET() {
      const nonce = crypto.randomUUID()
      this.response.headers.set('content-security-policy', docsPolicy(nonce))
      return docsPage(this.request.url.controller('openapi.json').pathname, nonce)
    }
  }
}

const style = `
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
  body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  details { border: 1px solid #8884; border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem }
  summary { cursor: pointer; font-family: ui-monospace, monospace }
  summary b { display: inline-block; width: 5rem }
  summary s { opacity: .6 } summary i { font-family: system-ui; opacity: .7; margin-left: 1rem }
  pre { overflow: auto; background: #8881; padding: .6rem; border-radius: 6px }
`

/** Builds the list only with text nodes, so that no part of the document is interpreted as HTML. */
const script = `
  const add = (parent, name, text, attributes = {}) => {
    const element = parent.appendChild(document.createElement(name))
    if (text !== undefined) element.textContent = text
    return Object.assign(element, attributes)
  }
  const describe = (parent, title, value) => {
    if (value === undefined) return
    add(parent, 'h4', title)
    add(parent, 'pre', JSON.stringify(value, null, 2))
  }
  const root = document.querySelector('main')
  fetch(root.dataset.document).then((response) => response.json()).then((api) => {
    document.title = api.info.title
    add(root, 'h1', api.info.title + ' ' + api.info.version)
    if (api.info.description) add(root, 'p', api.info.description)
    add(add(root, 'p'), 'a', 'openapi.json', { href: root.dataset.document })
    const sections = new Map()
    for (const [path, operations] of Object.entries(api.paths)) {
      for (const [verb, operation] of Object.entries(operations)) {
        const tag = operation.tags.join(' / ')
        if (!sections.has(tag)) sections.set(tag, add(root, 'section'))
        const section = sections.get(tag)
        if (!section.firstChild) add(section, 'h2', tag)
        const entry = add(section, 'details')
        const line = add(entry, 'summary')
        add(line, 'b', verb.toUpperCase())
        add(line, operation.deprecated ? 's' : 'span', path)
        if (operation.summary) add(line, 'i', operation.summary)
        if (operation.description) add(entry, 'p', operation.description)
        describe(entry, 'Parameters', operation.parameters)
        describe(entry, 'Body', operation.requestBody)
        describe(entry, 'Answers', operation.responses)
        describe(entry, 'Security', operation.security)
      }
    }
    describe(add(root, 'section'), 'Schemas', api.components.schemas)
  })
`

/** Returns the content security policy of the page. The page may run its own script and style, and fetch from its own host. */
function docsPolicy(nonce: string): string {
  return `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'`
}

/** Returns a page that lists the operations of a document. The page loads nothing from other hosts. */
function docsPage(documentPath: string, nonce: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>API</title>
<style nonce="${nonce}">${style}</style>
<main data-document="${documentPath.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></main>
<script nonce="${nonce}">${script}</script>
</html>
`
}
