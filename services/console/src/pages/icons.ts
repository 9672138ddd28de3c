import { type Html, html } from '@trestle/common/documents/html.ts'

/** The lines of each picture, 16 by 16. */
const PATHS = {
  overview: 'M2 2.5h5v5H2zM9 2.5h5v3H9zM9 7.5h5v6H9zM2 9.5h5v4H2z',
  users:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 2.8a2.5 2.5 0 0 1 0 4.4M12 9.9c1.6.5 2.5 1.8 2.5 3.6',
  merchants: 'M2 6.5 3 2.5h10l1 4M2 6.5a2 2 0 0 0 4 0 2 2 0 0 0 4 0 2 2 0 0 0 4 0M3 8.3v5.2h10V8.3M6.5 13.5v-3h3v3',
  transactions: 'M1.5 5.5h11M9.5 2.5l3 3-3 3M14.5 10.5h-11M6.5 7.5l-3 3 3 3',
  disputes: 'M8 2 1.5 13.5h13zM8 6.5v3M8 11.5v.1',
  payouts: 'M1.5 13.5h13M3 11V7M6.3 11V7M9.7 11V7M13 11V7M1.5 5 8 2l6.5 3z',
  products: 'M8 1.5 14 4.8v6.4l-6 3.3-6-3.3V4.8zM2 4.8l6 3.4 6-3.4M8 8.2v6.3',
  stock: 'M1.5 13.5v-8L8 2.5l6.5 3v8M4.5 13.5v-5h7v5M4.5 11h7',
  audit: 'M3 1.5h7l3 3v10H3zM5.5 6.5h5M5.5 9h5M5.5 11.5h3',
  settings: 'M2 4.5h6M12 4.5h2M10 2.8v3.4M2 11.5h2M8 11.5h6M6 9.8v3.4',
  jobs: 'M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM8 4.5V8l2.5 1.5',
  deliveries: 'M14.5 1.5 1.5 6.8l5 2.2 2.2 5zM14.5 1.5l-8 7.5',
  mail: 'M1.5 3.5h13v9h-13zM1.5 4.5 8 9l6.5-4.5',
  apps: 'M9 9.2a3.7 3.7 0 1 0-2.2-2.2L1.5 12.3v2.2h2.2v-1.8h1.8v-1.8zM10.8 5.2v.1',
  exceptions: 'M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2zM8 4.8v3.6M8 11v.1',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7l3.8 3.8',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  menu: 'M2 4h12M2 8h12M2 12h12',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  leave: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  imports: 'M5 13.5V2.5M2 5.5l3-3 3 3M11 2.5v11M8 10.5l3 3 3-3',
  download: 'M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
} as const

/** The name of a picture. */
export type IconName = keyof typeof PATHS

/** A picture beside a text. Screen readers skip it. */
export function icon(name: IconName): Html {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="${PATHS[name]}"/></svg>`
}
