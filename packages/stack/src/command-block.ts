import { escapeHtml } from '@trestle/common/documents/html.ts'

/** The HTML of code, in which no line breaks inside an option such as `--forward-to`. */
export function renderCode(text: string): string {
  return escapeHtml(text).replaceAll(/(?<!\S)--?\w[\w-]*/g, '<span>$&</span>')
}

/**
 * The HTML of a command in a box of its own, in which a long command wraps: what is copied has no breaks. Its button is shown by
 * `COPY_SCRIPT`. `id` is unique in the page.
 */
export function renderCommand(id: string, command: string): string {
  return `<div class="command"><code id="${id}">${renderCode(command)}</code><button class="quiet" id="copy-${id}" data-copy="${id}" hidden>Copy</button></div>`
}

/**
 * Shows each button of the page that has `data-copy`. The button copies the text of the element with that id,
 * and says for a moment that it did, to screen readers too. A script that adds buttons later calls
 * `showCopyButtons` with the element that holds them.
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
