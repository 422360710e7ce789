import { dialect } from './dialect.ts'

/** The standard without additions: for a PSP that has no table here (with overrides), and for the simulator. */
export const generic = dialect({
  title: 'Any PSP that speaks API Pix',
  ispb: null,
  needsCertificate: false,
  sources: ['https://github.com/bacen/pix-api'],
  unconfirmed: ['The standard does not say where and how to request a token.'],
})
