/** The parts of a mail that people read. */
interface MailBodies {
  readonly text: string | null
  readonly html: string | null
}

/** A link of a mail. */
export interface MailLink {
  readonly url: string
  /** The text of the link in the HTML. Undefined: only the text has the link, or the HTML writes nothing on it. */
  readonly label?: string
}

/**
 * The web addresses of a mail, each once. Those that carry a token come first, because the mail was sent for them; then those of
 * links in the HTML; then those that are only written.
 */
export function linksOf({ text, html }: MailBodies): readonly MailLink[] {
  const clickable = [...(html ?? '').matchAll(/<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')[^>]*>(.*?)<\/a>/gis)].map(
    ([, double, single, content = '']) => linkOf(decodeEntities(double ?? single ?? '').trim(), plainTextOf(content)),
  )
  const written = [...(text ?? '').matchAll(/https?:\/\/[^\s<>"')\]]*[^\s<>"')\].,;:!?]/g)].map(([url]) => ({ url }))
  const links = [...clickable, ...written].filter(({ url }) => /^https?:\/\//.test(url))
  const once = links.filter(({ url }, index) => links.findIndex((other) => other.url === url) === index)
  return [...once.filter(carriesToken), ...once.filter((link) => !carriesToken(link))]
}

/** The code that a mail asks its reader to enter: 4 to 10 digits, in bold or behind the word. Undefined: there is none. */
export function codeOf({ text, html }: MailBodies): string | undefined {
  const bold = /<(strong|b|code)\b[^>]*>\s*(\d{4,10})\s*<\/\1>/i.exec(html ?? '')?.[2]
  return bold ?? /\bcode\b[^\n\d]{0,30}\b(\d{4,10})\b/i.exec(text ?? '')?.[1]
}

function linkOf(url: string, label: string): MailLink {
  return label === '' || label === url ? { url } : { url, label }
}

/** Whether an address has a secret: a parameter of that name, or a part of its path that nobody would type. */
function carriesToken({ url }: MailLink): boolean {
  const { searchParams, pathname } = URL.parse(url) ?? {}
  const isNamed = [...(searchParams?.keys() ?? [])].some((name) => /token|code|secret|signature/i.test(name))
  return isNamed || /\/[\w-]{20,}(?:\/|$)/.test(pathname ?? '')
}

function plainTextOf(html: string): string {
  return decodeEntities(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
}

/** Decodes the entities that addresses and labels in HTML contain. */
function decodeEntities(text: string): string {
  return text.replace(/&(amp|quot|#39|#x27|lt|gt|nbsp);/gi, (entity, name: string) => {
    return entities[name.toLowerCase()] ?? entity
  })
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  '#39': "'",
  '#x27': "'",
  lt: '<',
  gt: '>',
  nbsp: ' ',
}
