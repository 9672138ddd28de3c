// Pays with the card form of a payment link. The script turns card data into tokens, sends the order, and takes each step that an
// answer requires. Without this script, the browser sends the form to the server, which does the same with redirects.
import { digitsIn, readExpiry, slash } from './read-card.js'

const form = document.querySelector('form[data-checkout]')
const { api, locale, order: orderOfLink, refusals, texts } = JSON.parse(form.dataset.checkout)
const button = form.querySelector('button')
const buttonText = button.textContent
const alertLine = document.querySelector('#alert')
const dialog = document.querySelector('#approval')
const FIELDS = ['number', 'expiry', 'code']
const STEPS_MAX = 20
const ATTEMPTS = 3
const RETRY_MS = 1_000
const REQUEST_MS = 45_000
const HEADERS = { 'content-type': 'application/json', 'accept-version': '1', 'x-client': 'trestle-payment-page' }
const pause = (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value))
/** Statuses below 500 after which, as after 5xx, the result of the order is unknown. */
const BUSY = [409, 429]
/** Codes that only this script uses. UNANSWERED means that no answer came, so the result of the order is unknown. */
const [CANCELLED, UNANSWERED] = ['CANCELLED', 'UNANSWERED']

/** Ends a payment. The code is a status code of the checkout, CANCELLED or UNANSWERED. */
class Refusal extends Error {
  constructor(code) {
    super(code)
    this.code = code
  }
}

/** The begun order. After a missing answer the same order is sent again, so that the customer pays only once. */
let begunOrder

form.noValidate = true
form.addEventListener('submit', (event) => {
  event.preventDefault()
  const card = readCard()
  if (card && !button.disabled) pay(card)
})
form.number.addEventListener('input', () => groupDigits(form.number))
form.expiry.addEventListener('input', ({ inputType }) => {
  if (inputType === 'insertText') form.expiry.value = slash(form.expiry.value)
})
// If the browser restores the page from its back-forward cache, the page still shows the busy state. Reset it.
window.addEventListener('pageshow', ({ persisted }) => persisted && (begunOrder ? offerRetry() : setBusy(false)))

async function pay(card) {
  setBusy(true)
  show({})
  try {
    begunOrder ??= await makeOrder(card)
    await authorize(begunOrder)
    finish(begunOrder)
  } catch ({ code }) {
    if (code === UNANSWERED) offerRetry()
    else refuse(code)
  }
}

async function makeOrder({ number, expiry, code }) {
  const values = Object.entries({ pcn: number, pcsc: code })
  const tokens = await Promise.all(values.map(([type, value]) => send('/vault', { type, value })))
  return { ...orderOfLink, card: { number: tokens[0], expiry, code: tokens[1] }, hints: [] }
}

/** Takes every step of an order. The hints of the last step prove to the server that the order is paid. */
async function authorize(order) {
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const { challenges } = await send('/payments', order)
    if (!challenges) return
    const challenge = challenges.find(({ type }) => Object.hasOwn(WAYS, type))
    order.hints.push(...(await WAYS[challenge.type](() => send(challenge.path, order))))
  }
  throw new Refusal('')
}

/** Submits the form for the receipt. The server gets the order once more, and gives the same answer. */
function finish({ card: { number, expiry, code }, hints }) {
  const card = JSON.stringify({ number: number.token, code: code.token, expiry, hints })
  const [link, page] = ['link', 'page'].map((name) => form[name].value)
  postForm({ action: form.action, fields: { link, page, expiry: form.expiry.value, card } })
  forget()
}

const WAYS = {
  fetch: async (ask) => (await ask()).hints,
  'background-iframe': async (ask) => showFrame(await ask(), { hidden: true }),
  iframe: (ask) =>
    inDialog(async (cancelled) => {
      const task = await ask()
      const { width, height } = task
      return showFrame(task, { title: texts.approveFrame, width, height }, cancelled)
    }),
  poll: (ask) => inDialog((cancelled) => poll(ask, cancelled), texts.approveApp),
}

/** Shows a page of the bank in a frame until that page reports its end. After the timeout, the frame contributes no hints. */
async function showFrame({ action, fields, timeout, hints }, attributes, cancelled = new Promise(() => {})) {
  const frame = Object.assign(document.createElement('iframe'), { name: `step-${Date.now()}`, ...attributes })
  const done = new AbortController()
  const reported = new Promise((resolve) => {
    const listen = ({ source, origin, data }) => {
      if (source === frame.contentWindow && origin === new URL(action).origin) resolve(data?.hints ?? [])
    }
    window.addEventListener('message', listen, { signal: done.signal })
  })
  document.querySelector('#approval-frame').append(frame)
  postForm({ action, fields, target: frame.name })
  if (!frame.hidden) frame.focus()
  try {
    return [...hints, ...(await Promise.race([reported, pause(timeout, []), cancelled]))]
  } finally {
    done.abort()
    frame.remove()
  }
}

/** Repeats the request until the bank has decided. */
async function poll(ask, cancelled) {
  for (;;) {
    const { hints, interval } = await ask()
    if (hints.length > 0) return hints
    await Promise.race([pause(interval), cancelled])
  }
}

/** Opens the dialog during a step, with a text unless a frame has instructions. Closing it cancels the payment. */
async function inDialog(work, text = '') {
  dialog.querySelector('#approval-app').hidden = text === ''
  dialog.showModal()
  dialog.querySelector('[role="status"]').textContent = text
  const done = new AbortController()
  const cancelled = new Promise((_, reject) => {
    dialog.addEventListener('close', () => reject(new Refusal(CANCELLED)), { signal: done.signal })
  })
  cancelled.catch(() => {})
  try {
    return await work(cancelled)
  } finally {
    done.abort()
    dialog.close()
  }
}

function postForm({ action, fields, target = '_self' }) {
  const sent = Object.assign(document.createElement('form'), { method: 'post', action, target, hidden: true })
  for (const [name, value] of Object.entries(fields)) {
    sent.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
  }
  document.body.append(sent)
  sent.submit()
  sent.remove()
}

/** Sends JSON to the checkout. A request can be repeated safely, because the same order pays only once. */
async function send(path, body) {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (attempt > 1) await pause(RETRY_MS)
    const answer = await post(path, body).catch(() => undefined)
    if (answer?.ok) return answer.data
    if (answer?.refused) throw new Refusal(answer.data.code)
  }
  throw new Refusal(UNANSWERED)
}

/** @throws Error if no answer comes, or if a proxy answers instead of the checkout */
async function post(path, body) {
  const response = await fetch(api + path, {
    method: 'POST',
    headers: { ...HEADERS, 'accept-language': locale },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  const { ok, status } = response
  return { ok, refused: status < 500 && !BUSY.includes(status), data: await response.json() }
}

/** Returns the card of the form. If the card is invalid, shows the problems and returns `undefined`. */
function readCard() {
  const number = digitsIn(form.number.value)
  const code = digitsIn(form.code.value)
  const { month, year } = readExpiry(form.expiry.value) ?? {}
  const expiry = { month: Number(month), year: 2_000 + Number(year) }
  const isPast = Date.UTC(expiry.year, expiry.month, 1) <= Date.now()
  const problems = {
    number: /^\d{10,19}$/.test(number) ? undefined : texts.numberInvalid,
    expiry: (month === undefined && texts.expiryInvalid) || (isPast && texts.expiryPast) || undefined,
    code: /^\d{3}$/.test(code) ? undefined : texts.codeInvalid,
  }
  if (FIELDS.every((field) => problems[field] === undefined)) return { number, expiry, code }
  show(problems, texts.fieldsInvalid)
}

/** Shows why the payment failed, and clears the form for another card. */
function refuse(code) {
  setBusy(false)
  forget()
  const { text, field } = code === CANCELLED ? { text: texts.refusedTds } : (refusals[code] ?? refusals[''])
  show({ [field ?? 'number']: field ? text : '' }, text)
}

/** Clears the form. Browsers keep form content, so the next person who returns to this page could otherwise see the card. */
function forget() {
  begunOrder = undefined
  for (const name of FIELDS) form[name].readOnly = false
  for (const name of ['number', 'code']) form[name].value = ''
}

/** Lets the customer try again. The fields stay locked, because a begun order must not change. */
function offerRetry() {
  setBusy(false, texts.tryAgain)
  for (const name of FIELDS) form[name].readOnly = begunOrder !== undefined
  show({}, texts.connectionLost)
  button.focus()
}

/** Shows what is wrong, and moves the focus to the first wrong field. A field with an empty text only gets the focus. */
function show(problems, summary = '') {
  for (const field of FIELDS) {
    const text = problems[field] ?? ''
    document.querySelector(`#${field}-error`).textContent = text
    if (text) form[field].setAttribute('aria-invalid', 'true')
    else form[field].removeAttribute('aria-invalid')
  }
  alertLine.textContent = summary
  form[FIELDS.find((field) => problems[field] !== undefined)]?.focus()
}

function setBusy(busy, text = buttonText) {
  form.setAttribute('aria-busy', String(busy))
  button.disabled = busy
  button.textContent = busy ? texts.working : text
}

/** Groups the digits in fours, and keeps the caret after the same digit. */
function groupDigits(input) {
  const { value, selectionStart } = input
  const grouped = digitsIn(value).replaceAll(/(\d{4})(?=\d)/g, '$1 ')
  if (grouped === value) return
  const before = digitsIn(value.slice(0, selectionStart)).length
  input.value = grouped
  const caret = before + Math.floor(Math.max(0, before - 1) / 4)
  input.setSelectionRange(caret, caret)
}
