import { html } from '@trestle/common/documents/html.ts'
import { mayDo } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import type { Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, ListQuery, listCard } from '../pages/list.ts'
import { askLink, badge, emptyState, pageHead, time } from '../pages/parts.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { type Message, type MessagesView, userPath } from './user-view.ts'

export const MessagesQuery = ListQuery.extend({
  user: z.union([z.guid(), z.literal('')]).optional(),
  status: z.enum(['', 'waiting', 'sent', 'failed']).optional(),
})
type MessagesQuery = z.infer<typeof MessagesQuery>

/** @param filter the filter of the list */
export function messagesPath(filter: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(filter)
  return query.size === 0 ? '/messages' : `/messages?${query}`
}

export const MESSAGE_TONES = { waiting: 'info', sent: 'good', failed: 'bad' } as const

/** The messages that auth can send again while their cause exists (console reference: Messages of operators). */
const RESENDABLE: ReadonlySet<string> = new Set([
  'confirmation',
  'invite',
  'recovery',
  'magic_link',
  'email_change',
  'one_time_code',
  'phone_change',
])

/** Whether a message with this purpose can be sent again. Auth makes all other checks. */
export function mayBeResent(purpose: string): boolean {
  return RESENDABLE.has(purpose)
}

/** The list of mails and SMS, with the reasons of failures. */
export function messagesPage(
  query: MessagesQuery,
  { value, next }: Listed<z.infer<typeof MessagesView>>,
  viewer: Viewer,
): ConsolePage {
  const { user, status } = query
  const path = messagesPath()
  return {
    title: 'Messages',
    section: 'messages',
    main: html`${pageHead({ title: 'Messages' })}
${filterForm({
  path,
  kept: [{ name: 'user', label: `User ${user ?? ''}`, value: user }],
  choices: [
    {
      name: 'status',
      label: 'State',
      value: status,
      options: [
        ['', 'All states'],
        ['waiting', 'Waiting'],
        ['sent', 'Sent'],
        ['failed', 'Failed'],
      ],
    },
  ],
})}
${listCard({
  label: 'Messages',
  path,
  columns: messageColumns(viewer),
  rows: value.messages,
  next,
  query: { ...query },
  empty: emptyState(
    'mail',
    user || status ? 'No message matches.' : 'No mail and no SMS was sent in the last 30 days.',
  ),
})}`,
  }
}

function messageColumns({ role }: Viewer): readonly Column<Message>[] {
  const resendPath = ({ id, user_id: userId }: Message) =>
    `${userPath(userId)}/resend?${new URLSearchParams({ message: id })}`
  return [
    {
      label: 'Message',
      cell: ({ purpose, user_id: userId, kind }) =>
        html`<div><a class="main-link" href="${userPath(userId)}">${purpose}</a> <span class="soft">${kind}</span></div>`,
    },
    { label: 'State', kind: 'state', cell: ({ status }) => badge(status, MESSAGE_TONES[status]) },
    { label: 'Last error', cell: ({ error }) => (error ? html`<span class="long">${error}</span>` : '') },
    { label: 'To', kind: 'bare', cell: ({ to }) => html`<span class="long">${to}</span>` },
    { label: 'Created', kind: 'created', cell: ({ created_at: at }) => time(at) },
    {
      label: '',
      cell: (message) =>
        html`${mayDo(role, 'messages.resend') && mayBeResent(message.purpose) ? askLink(resendPath(message), 'Send again…') : undefined}`,
    },
  ]
}
