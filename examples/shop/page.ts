import { z } from 'zod'
import { type BankPage, createCheckout } from './checkout.ts'

const Shop = z.object({ paymentsUrl: z.string(), order: z.record(z.string(), z.unknown()) })

const form = find('main form', HTMLFormElement)
const button = find('main form button', HTMLButtonElement)
const status = find('[role=status]', HTMLElement)
const dialog = find('dialog', HTMLDialogElement)

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  button.disabled = true
  status.textContent = 'One moment …'
  status.textContent = await pay().catch((error: Error) => `Not paid: ${error.message}`)
  button.disabled = false
})

/** The server says what the order is, the browser pays, and the server checks the payment. */
async function pay(): Promise<string> {
  const { paymentsUrl, order } = Shop.parse(await (await fetch('/orders', { method: 'POST' })).json())
  const checkout = createCheckout({
    url: paymentsUrl,
    showPage,
    tellToApprove: () => {
      status.textContent = 'Approve the payment in your banking app.'
    },
  })
  const [month = 0, year = 0] = find('#expiry', HTMLInputElement).value.split('/').map(Number)
  const transactionId = await checkout(order, {
    number: find('#number', HTMLInputElement).value.replaceAll(' ', ''),
    expiry: { month, year: 2_000 + year },
    code: find('#code', HTMLInputElement).value,
  })
  const settled = await fetch(`/orders/${transactionId}`, { method: 'POST' })
  return settled.text()
}

/** Posts the fields into a frame. Waits for its message, for the customer to cancel, or for the time to pass. */
function showPage({ action, fields, timeout, width, height }: BankPage, { hidden }: { hidden: boolean }) {
  const frame = Object.assign(document.createElement('iframe'), {
    name: `bank-${Date.now()}`,
    hidden,
    title: 'Your bank',
  })
  if (width && height) Object.assign(frame, { width: String(width), height: String(height) })
  const sender = Object.assign(document.createElement('form'), { method: 'post', action, target: frame.name })
  for (const [name, value] of Object.entries(fields)) {
    sender.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
  }
  dialog.prepend(frame, sender)
  sender.submit()
  if (!hidden) dialog.showModal()
  const done = new AbortController()
  return new Promise<readonly string[]>((resolve, reject) => {
    const { signal } = done
    const listen = ({ source, origin, data }: MessageEvent) => {
      if (source === frame.contentWindow && origin === new URL(action).origin)
        resolve(z.array(z.string()).parse(data.hints))
    }
    window.addEventListener('message', listen, { signal })
    dialog.addEventListener('close', () => reject(new Error('cancelled')), { signal })
    setTimeout(() => resolve([]), timeout)
  }).finally(() => {
    done.abort()
    dialog.close()
    frame.remove()
    sender.remove()
  })
}

function find<Kind extends HTMLElement>(selector: string, kind: new () => Kind): Kind {
  const element = document.querySelector(selector)
  if (!(element instanceof kind)) throw new Error(`the page has no ${selector}`)
  return element
}
