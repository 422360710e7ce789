/** The service refuses larger ones: `logoBytesMax` in src/branding/png.ts. */
const bytesMax = 12 * 1024
/** The sizes to try: first twice the size on the page, for high-resolution screens, and last that size itself. */
const boxes = [1, 0.8, 0.6, 0.5].map((part) => ({ width: 400 * part, height: 112 * part }))

/**
 * The image as a PNG in base64, as large as it may be. A canvas writes only pixels, no metadata.
 *
 * @returns null if it is too large even at the size on the page, or the browser cannot draw it
 * @throws if the browser cannot read the file
 */
export async function toLogo(file: Blob): Promise<string | null> {
  const image = await createImageBitmap(file)
  for (const box of boxes) {
    const scale = Math.min(1, box.width / image.width, box.height / image.height)
    const canvas = document.createElement('canvas')
    canvas.width = Math.max(1, Math.round(image.width * scale))
    canvas.height = Math.max(1, Math.round(image.height * scale))
    const context = canvas.getContext('2d')
    if (!context) return null
    context.imageSmoothingQuality = 'high'
    context.drawImage(image, 0, 0, canvas.width, canvas.height)
    const png = canvas.toDataURL('image/png').replace(/^.*,/, '')
    if (png.length * 0.75 <= bytesMax) return png
  }
  return null
}
