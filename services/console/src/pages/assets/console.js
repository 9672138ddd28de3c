// The script of the pages: local times, copying ids, questions in dialogs, toasts and keyboard shortcuts. Every page works
// without it. It runs before the page is shown, so that no click can come earlier.
const TOAST_MS = 6_000
const COPIED_MS = 1_500
const WAY_MS = 1_200
/** The least time in which a person can see a button and click it. */
const SIGHT_MS = 700

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const ofThisYear = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** Shows times in the reader's time zone. The `title` contains the time in UTC. */
function showTimes(root) {
  for (const time of root.querySelectorAll('time[datetime]:not([data-local])')) {
    const date = new Date(time.dateTime)
    if (Number.isNaN(date.getTime())) continue
    time.dataset.local = ''
    time.title = `${time.textContent} · ${exact.format(date)}`
    const isOfThisYear = date.getFullYear() === new Date().getFullYear()
    time.textContent = (isOfThisYear ? ofThisYear : moment).format(date)
  }
}

/** Shows buttons that need this script. */
function showButtons(root) {
  for (const button of root.querySelectorAll('button[data-copy][hidden]')) button.hidden = false
}

function prepare(root) {
  showTimes(root)
  showButtons(root)
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy)
  toast(`Copied ${button.dataset.copy}`, COPIED_MS)
}

/** Shows a notice for a short time. The text is never HTML. */
function toast(text, ms = TOAST_MS) {
  const line = document.createElement('div')
  line.className = 'toast'
  line.textContent = text
  document.querySelector('.toasts')?.append(line)
  setTimeout(() => line.remove(), ms)
}

/** Opens the page of a question in the dialog. If the page cannot be fetched, follows the link. */
async function ask(link) {
  const dialog = document.querySelector('#dialog')
  link.setAttribute('aria-busy', 'true')
  try {
    const answer = await fetch(link.href, { headers: { accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const question = page.querySelector('.question')
    if (answer.redirected || question === null) throw new Error('no question')
    dialog.replaceChildren(document.adoptNode(question))
  } catch {
    location.assign(link.href)
    return
  } finally {
    link.removeAttribute('aria-busy')
  }
  prepare(dialog)
  dialog.showModal()
  shownAt = performance.now()
  // Do not focus a field, because Enter in a prefilled field would answer the question immediately.
  const heading = dialog.querySelector('h1')
  heading.tabIndex = -1
  heading.focus()
}

/** When the page or a dialog appeared, or was last clicked too early. */
let shownAt = performance.now()
/** When the window appeared. A returning operator may click into a field immediately. */
let wokenAt = shownAt

/**
 * Protects against clickjacking. Another site may make its visitor click repeatedly and then put a page of the console under the
 * pointer. A click too soon after a page, a dialog or the window appeared is ignored in the form of a change or of a sign-in
 * link. It restarts the time.
 */
function refuseSoon(event) {
  // A key press on a button also causes a click event, with a count of 0.
  if (event.detail === 0 || !event.target.closest('dialog, form:has([name=_key], [name=token_hash])')) return
  const sinceMs = event.target.closest('button') ? Math.max(shownAt, wokenAt) : shownAt
  if (event.timeStamp - sinceMs >= SIGHT_MS) return
  shownAt = event.timeStamp
  event.preventDefault()
  event.stopPropagation()
}

for (const type of ['mousedown', 'click']) document.addEventListener(type, refuseSoon, { capture: true })
addEventListener('focus', () => {
  wokenAt = performance.now()
})
document.addEventListener('visibilitychange', () => {
  wokenAt = performance.now()
})

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : undefined
  const button = target?.closest('button[data-copy]')
  if (button) copy(button)
  const plain = !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) && event.button === 0
  const question = target?.closest('a[data-ask]')
  if (question && plain) {
    event.preventDefault()
    ask(question)
  }
  const close = target?.closest('dialog a[data-close]')
  if (close && plain) {
    event.preventDefault()
    close.closest('dialog').close()
  }
  if (target instanceof HTMLDialogElement) target.close()
  const menu = document.querySelector('.menu[open]')
  if (menu && !menu.contains(target)) menu.open = false
})

/** Reports an amount that is too small or too large before it is sent. The console reports invalid text. */
function checkAmount(field) {
  const { most, tooSmall, tooLarge } = field.dataset
  const amount = field.value.trim() === '' ? Number.NaN : Number(field.value.replace(',', '.'))
  field.setCustomValidity(amount <= 0 ? tooSmall : amount > Number(most) ? tooLarge : '')
}

document.addEventListener('input', ({ target }) => {
  if ('most' in target.dataset) checkAmount(target)
})

/** Prevents sending a change twice. The Idempotency-Key of the form would prevent it anyway. */
document.addEventListener('submit', ({ target, submitter }) => {
  // A form that downloads a file does not replace its page.
  if (target.method !== 'post' || 'gives' in target.dataset) return
  target.setAttribute('aria-busy', 'true')
  setTimeout(() => submitter?.setAttribute('disabled', ''))
})

/**
 * Returns the links of the page's list, one per row. A row without its own page has another link, or opens in place. Buttons that
 * send a form are excluded, because keys typed for another site could press them. Tab leads from the row to them.
 */
const rowLinks = () =>
  [...document.querySelectorAll('main tr[data-row]')].map(
    (row) => row.querySelector('a.main-link') ?? row.querySelector('a, summary, button[type=button]') ?? row,
  )

function moveRow(step) {
  const links = rowLinks()
  const at = links.findIndex((link) => link.closest('tr').contains(document.activeElement))
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)]
  if (next instanceof HTMLTableRowElement) next.tabIndex = -1
  next?.focus()
}

const follow = (selector) => document.querySelector(selector)?.click()

const KEYS = {
  '/': () => document.querySelector('[data-search]')?.focus(),
  '?': () => document.querySelector('#keys')?.showModal(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  n: () => follow('a[data-next]'),
  b: () => follow('a[data-previous]'),
  c: () => follow('main button[data-copy]'),
}

/** When `g` was pressed, the first key of a shortcut to a page. */
let way = 0

/** Closes the menu of a narrow page, and returns the focus to its button. */
function closeMenu() {
  const menu = document.querySelector('.menu[open]')
  if (!menu) return
  menu.open = false
  menu.querySelector('summary').focus()
}

document.addEventListener('keydown', (event) => {
  // A held Enter key, perhaps held since the previous page, must not open or send anything.
  if (event.key === 'Enter' && event.repeat && !(event.target instanceof HTMLTextAreaElement)) event.preventDefault()
  if (event.key === 'Escape') closeMenu()
  const field = event.target instanceof Element && event.target.closest('input, select, textarea, [contenteditable]')
  if (event.key === 'Escape' && field && 'search' in field.dataset) field.blur()
  if (field || event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return
  if (way > 0 && event.timeStamp - way < WAY_MS && /^[a-z]$/.test(event.key)) {
    way = 0
    follow(`.side a[data-go="${event.key}"]`)
    return
  }
  way = event.key === 'g' ? event.timeStamp : 0
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined
  if (!act) return
  event.preventDefault()
  act()
})

/** Leaves the page of a form for the page that it belongs to. @returns whether there was a form */
function leaveForm() {
  const around = document.querySelector('main a[data-close]')
  if (around) location.replace(around.href)
  return around !== null
}

/** Whether the previous page is of another site. `true` if the browser does not say. */
const isFromElsewhere = () => !globalThis.navigation?.activation?.from

/**
 * Whether another site has sent the browser back to a form that the operator had left (`history.go`). The request looks like one
 * from the console, so only the browser can detect this. Keys typed for the other site would fill in the form and send it.
 */
const isLedBack = performance.getEntriesByType('navigation')[0]?.type === 'back_forward' && isFromElsewhere()
// Block input until the script knows whether there is a form.
document.documentElement.inert = isLedBack

// A restored page still has its buttons disabled. Block input until it is replaced.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return
  document.documentElement.inert = true
  if (!(isFromElsewhere() && leaveForm())) location.reload()
})
document.addEventListener('htmx:load', ({ target }) => prepare(target))
document.documentElement.dataset.script = ''
document.addEventListener('DOMContentLoaded', () => {
  shownAt = performance.now()
  if (isLedBack) document.documentElement.inert = leaveForm()
  prepare(document)
  for (const line of document.querySelectorAll('.toasts .toast')) setTimeout(() => line.remove(), TOAST_MS)
})
