import PostalMime, { type Address } from 'postal-mime'

/** A caught mail, as `GET /messages/:id` returns it. */
export interface CaughtMail extends MailSummary {
  readonly cc: readonly string[]
  /** All headers in the order of the mail, with lower-case names. */
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  /** The plain text. Null: the mail has none. */
  readonly text: string | null
  /** The HTML as it was sent. Null: the mail has none. */
  readonly html: string | null
  readonly attachments: readonly { readonly name: string; readonly type: string; readonly bytes: number }[]
}

/** A mail in a list, as `GET /messages` returns it. */
export interface MailSummary {
  /** Counts from 1 in the order of arrival. */
  readonly id: number
  /** The time of arrival: RFC 3339, UTC. */
  readonly received: string
  readonly from: string
  /** The recipients of the envelope, including hidden ones. */
  readonly to: readonly string[]
  readonly subject: string
  /** Size as sent, in bytes. */
  readonly bytes: number
}

/** The latest mails, in memory. */
export type MailStore = ReturnType<typeof createMailStore>

/** How many mails, and how many bytes of them, are kept. The newest mail is always kept. */
export interface MailLimits {
  readonly mailsMax: number
  readonly bytesMax: number
}

const defaultLimits: MailLimits = { mailsMax: 500, bytesMax: 64 * 1024 * 1024 }

/** Makes an empty store. @param now the clock for the times of arrival */
export function createMailStore(now: () => Date, limits: MailLimits = defaultLimits) {
  let kept: { readonly mail: CaughtMail; readonly source: Buffer }[] = []
  let lastId = 0
  const read = new Set<number>()
  const entryOf = (id: number) => kept.find(({ mail }) => mail.id === id)
  return {
    /** Parses and keeps a mail. Beyond the limits, the oldest mails are dropped. */
    add: async (raw: Buffer, recipients: readonly string[]): Promise<void> => {
      lastId += 1
      const head = { id: lastId, received: now().toISOString(), to: recipients, bytes: raw.length }
      const mail = await readMail(raw, head)
      kept = within([{ mail, source: raw }, ...kept], limits)
    },
    /** Newest first. */
    list: (): readonly CaughtMail[] => kept.map(({ mail }) => mail),
    find: (id: number): CaughtMail | undefined => entryOf(id)?.mail,
    /** The bytes of the mail as they were sent. */
    findSource: (id: number): Buffer | undefined => entryOf(id)?.source,
    /** Whether nobody has opened the page of the mail. Programs that read the JSON form leave it unread. */
    isUnread: (id: number): boolean => !read.has(id),
    markRead: (id: number): void => void read.add(id),
    /** False: there was no such mail. */
    remove: (id: number): boolean => {
      const left = kept.filter(({ mail }) => mail.id !== id)
      const isFound = left.length < kept.length
      kept = left
      return isFound
    },
    clear: (): void => {
      kept = []
    },
  }
}

/** The members of a mail that a list shows. */
export function summaryOf({ id, received, from, to, subject, bytes }: CaughtMail): MailSummary {
  return { id, received, from, to, subject, bytes }
}

async function readMail(raw: Buffer, head: Pick<CaughtMail, 'id' | 'received' | 'to' | 'bytes'>): Promise<CaughtMail> {
  const parsed = await PostalMime.parse(raw)
  return {
    ...head,
    from: parsed.from ? formatAddress(parsed.from) : '',
    cc: (parsed.cc ?? []).map(formatAddress),
    subject: parsed.subject ?? '',
    headers: parsed.headers.map(({ key, value }) => ({ name: key, value })),
    text: parsed.text ?? null,
    html: parsed.html ?? null,
    attachments: parsed.attachments.map(({ filename, mimeType, content }) => ({
      name: filename ?? '',
      type: mimeType,
      bytes: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
    })),
  }
}

function formatAddress({ name, address, group }: Address): string {
  if (group) return group.map(formatAddress).join(', ')
  return name ? `${name} <${address}>` : address
}

/** The newest mail is always kept. The SMTP listener limits its size. */
function within<Entry extends { readonly source: Buffer }>(entries: Entry[], limits: MailLimits): Entry[] {
  let bytes = 0
  return entries.slice(0, limits.mailsMax).filter(({ source }, index) => {
    bytes += source.length
    return index === 0 || bytes <= limits.bytesMax
  })
}
