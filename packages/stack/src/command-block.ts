import { escapeHtml } from '@trestle/common/documents/html.ts'

/** Returns the HTML of code. Lines do not break inside an option such as `--forward-to`. */
export function renderCode(text: string): string {
  return escapeHtml(text).replaceAll(/(?<!\S)--?\w[\w-]*/g, '<span>$&</span>')
}

/**
 * Returns the HTML of a command in its own box. A long command wraps, but the copied text has no line breaks. `COPY_SCRIPT` shows
 * the copy button. `id` must be unique in the page.
 */
export function renderCommand(id: string, command: string): string {
  return `<div class="command"><code id="${id}">${renderCode(command)}</code><button class="quiet" id="copy-${id}" data-copy="${id}" hidden>Copy</button></div>`
}

/**
 * Shows each button of the page that has `data-copy`. The button copies the text of the element whose id is the value of
 * `data-copy`. The button then says `Copied` for two seconds, and screen readers announce the word. A script that adds buttons
 * later must call `showCopyButtons` with their parent element.
 */
export const COPY_SCRIPT = `const copied = document.body.appendChild(Object.assign(document.createElement('p'), { className: 'unseen' }))
copied.setAttribute('role', 'status')
const showCopyButtons = (part) => {
  for (const button of part.querySelectorAll('[data-copy]')) {
    const name = button.textContent
    button.hidden = false
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
      button.textContent = copied.textContent = 'Copied'
      setTimeout(() => (button.textContent = name, copied.textContent = ''), 2000)
    })
  }
}
showCopyButtons(document)
`
