import { type Manner, type MannerOverrides, standardManner, withOverrides } from '../bacen/manner.ts'

/** Where a PSP is reached: its hosts, without the paths of {@link Manner}. */
export type Place = { baseUrl: string; tokenUrl?: string }

/** What is known of one PSP. Every member of its manner may be said otherwise in the settings file. */
export type Dialect = {
  title: string
  /** Null where it may be any. */
  ispb: string | null
  places: { production: Place | null; sandbox: Place | null }
  needsCertificate: boolean
  needsSecret: boolean
  /** What it wants to be told beyond the usual, in `settings` of the file: each stands in headers or queries as `{name}`. */
  settings: Record<string, { isRequired: boolean; what: string }>
  manner: Manner
  /** Where programs ask it for a token too: `acquirer check` tries them when the usual place gives none. */
  otherTokenPaths: string[]
  /** How long an address for callbacks may be; null where no limit is known. */
  callbackUrlMax: number | null
  /** Public documents and programs that this was read in. */
  sources: string[]
  /** What was not seen in this PSP's own sandbox, or is told in several ways. */
  unconfirmed: string[]
}

type Known = Pick<Dialect, 'title' | 'ispb' | 'sources' | 'unconfirmed'> & Partial<Omit<Dialect, 'manner'>>

/** A table: what it does not say is as in the standard. */
export function dialect({ manner = {}, ...known }: Known & { manner?: MannerOverrides }): Dialect {
  return {
    places: { production: null, sandbox: null },
    needsCertificate: true,
    needsSecret: true,
    settings: {},
    otherTokenPaths: [],
    callbackUrlMax: null,
    ...known,
    manner: withOverrides(standardManner, manner),
  }
}

/** Under one prefix, as most have them. */
export function under(prefix: string): Pick<Manner['paths'], 'cob' | 'pix' | 'webhook'> {
  return { cob: `${prefix}/cob`, pix: `${prefix}/pix`, webhook: `${prefix}/webhook` }
}

/** What the gateway asks of a PSP, by the names that the standard gives. */
export const standardScopes = ['cob.read', 'cob.write', 'pix.read', 'pix.write', 'webhook.read', 'webhook.write']
