/** A delivery note in a photo can still be read at this size. */
const sideMaxPixels = 2400

/** An image above the limit, such as a phone's photo, becomes a smaller JPEG. Any other file stays as it is. */
export async function shrinkPhoto(file: File, bytesMax: number): Promise<Blob> {
  if (file.size <= bytesMax || !file.type.startsWith('image/')) return file
  try {
    const photo = await createImageBitmap(file)
    const scale = Math.min(1, sideMaxPixels / Math.max(photo.width, photo.height))
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(photo.width * scale)
    canvas.height = Math.round(photo.height * scale)
    const context = canvas.getContext('2d')
    if (!context) return file
    // JPEG has no transparency: without a background, transparent parts would be black.
    context.fillStyle = '#fff'
    context.fillRect(0, 0, canvas.width, canvas.height)
    context.drawImage(photo, 0, 0, canvas.width, canvas.height)
    photo.close()
    const smaller = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.85))
    return smaller ?? file
  } catch {
    // The browser cannot read it: the caller reports that it is too large.
    return file
  }
}
