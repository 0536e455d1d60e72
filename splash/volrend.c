/* SPDX-License-Identifier: BSD-3-Clause */
/* volrend - pictures of a volume by ray casting (Levoy, Display of Surfaces from Volume Data, 1988), in parallel as in
 * SPLASH-2 (Nieh and Levoy, Volume Rendering on Scalable Shared-Memory MIMD Architectures, 1992; Cashmere-2L, section
 * 3.2).
 *
 * The volume is a generated head of ellipsoids: one byte of density for each voxel, and the direction of the density's
 * gradient in two.  A ray for each pixel passes through it in steps of a voxel until it has met enough opaque matter;
 * it skips blocks of voxels where nothing is visible.  The head turns from frame to frame.
 *
 *     prepare     gradients and the map of blocks, by slices                                  barrier
 *     each frame  fill the own queue with the tiles of the own part of the picture            barrier
 *                 render them, then steal tiles from the others' queues, one at a time        barrier
 *                 processor 0 takes the picture
 *
 * A queue is a page of its own, a counter under a lock.  Rays only read the volume.  Pixels are bytes; a row has pixels
 * of several processors, different ones in every frame. */
#include "apps/kernel.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#ifdef TW_PNG
#include <png.h>
#endif

#include "tweed/tweed.h"

#define VOLREND_BLOCK       8     /* voxels along the edge of a block */
#define VOLREND_QUEUE_BYTES 65536 /* from one queue to the next: Tweed's largest page */
#define VOLREND_HEIGHT      0.88F /* of the volume, half; half its width is 1 */
#define VOLREND_VIEW        1.1F  /* half the picture's width */
#define VOLREND_OPAQUE      0.95F /* a ray ends when it has met this much */
#define VOLREND_GRID        64    /* directions are cut into a square of so many, unfolded from an octahedron */

enum { VOLREND_DIRECTIONS = VOLREND_GRID * VOLREND_GRID + 1 }; /* number 0 is none */

struct volrend_volume {
	uint8_t *density; /* [depth][size][size] */
	uint16_t *normal; /* likewise: the direction in which density falls, by number */
	uint8_t *visible; /* [depth / 8][size / 8][size / 8], rounded up: is there anything to see in this block? */
	uint8_t *picture; /* [pixels][pixels] */
	uint64_t *taken;  /* [frames], private to processor 0: the pictures' hashes */
};

struct volrend_queue {
	tw_lock_t lock;
	long next; /* the first tile that was not taken */
};

/* A frame's geometry in units of voxels, and how bright each direction is. */
struct volrend_view {
	float right[3], down[3], ahead[3]; /* one pixel to the right, one down, one step ahead */
	float origin[3];                   /* of the ray of pixel (0, 0), in the plane through the middle of the head */
	float bright[VOLREND_DIRECTIONS];
};

static long size, pixels, tile, frames;
static const char *file_name;
static struct volrend_volume shared, plain;
static char *queues; /* shared */
static FILE *file;   /* at processor 0 */
static float opacity[256];

static long volrend_depth(void)
{
	return size * 113 / 256;
}

static size_t volrend_voxels(void)
{
	return (size_t)volrend_depth() * (size_t)size * (size_t)size;
}

static size_t volrend_at(long x, long y, long z)
{
	return ((size_t)z * (size_t)size + (size_t)y) * (size_t)size + (size_t)x;
}

static long volrend_blocks(long voxels)
{
	return (voxels + VOLREND_BLOCK - 1) / VOLREND_BLOCK;
}

static size_t volrend_block_at(long x, long y, long z)
{
	size_t row = (size_t)volrend_blocks(size);

	return ((size_t)(z / VOLREND_BLOCK) * row + (size_t)(y / VOLREND_BLOCK)) * row + (size_t)(x / VOLREND_BLOCK);
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

/* Where ellipsoids overlap, the last one counts.  Coordinates are -1 to 1 in each direction, the face is at y = -1 and
 * the top at z = -1. */
static const struct {
	float middle[3], radius[3];
	int density;
} volrend_head[] = {
    {{0, 0, 0}, {0.80F, 0.92F, 0.96F}, 70},               /* skin and flesh */
    {{0, 0, 0}, {0.70F, 0.82F, 0.88F}, 160},              /* skull */
    {{0, 0, 0}, {0.62F, 0.74F, 0.80F}, 60},               /* around the brain */
    {{0, 0, 0}, {0.58F, 0.70F, 0.75F}, 105},              /* brain */
    {{-0.27F, -0.72F, 0.10F}, {0.17F, 0.30F, 0.18F}, 40}, /* orbits */
    {{0.27F, -0.72F, 0.10F}, {0.17F, 0.30F, 0.18F}, 40},
    {{0, -0.82F, 0.42F}, {0.09F, 0.20F, 0.16F}, 40}, /* nose */
};

static uint8_t volrend_density(long x, long y, long z)
{
	float at[3] = {(float)(2 * x) / (float)(size - 1) - 1, (float)(2 * y) / (float)(size - 1) - 1,
	               (float)(2 * z) / (float)(volrend_depth() - 1) - 1};
	int noise = (int)(16 * kernel_random((uint64_t)z, (uint64_t)(y * size + x))), density = 0;

	for (size_t e = 0; e < sizeof(volrend_head) / sizeof(*volrend_head); e++) {
		float sum = 0;

		for (int i = 0; i < 3; i++) {
			float part = (at[i] - volrend_head[e].middle[i]) / volrend_head[e].radius[i];

			sum += part * part;
		}
		if (sum <= 1)
			density = volrend_head[e].density;
	}
	return (uint8_t)(density + noise);
}

static void volrend_init_slices(const struct volrend_volume *v, long first, long end)
{
	for (long z = first; z < end; z++)
		for (long y = 0; y < size; y++)
			for (long x = 0; x < size; x++)
				v->density[volrend_at(x, y, z)] = volrend_density(x, y, z);
}

/* The first slice of processor @id of @count; @id = @count: the end. */
static long volrend_slice(int id, int count)
{
	return volrend_depth() * id / count;
}

/* ---- directions -------------------------------------------------------------------------------------------------- */

/* An octahedron's faces unfold to a square: the lower half's are folded outwards over the edges. */
static void volrend_fold(float *u, float *v)
{
	float a = *u, b = *v;

	*u = copysignf(1 - fabsf(b), a);
	*v = copysignf(1 - fabsf(a), b);
}

static uint16_t volrend_number(float x, float y, float z)
{
	float sum = fabsf(x) + fabsf(y) + fabsf(z), u, v;

	if (sum <= 0)
		return 0;
	u = x / sum;
	v = y / sum;
	if (z < 0)
		volrend_fold(&u, &v);
	return (uint16_t)(1 + (int)((u + 1) / 2 * (VOLREND_GRID - 1) + 0.5F) * VOLREND_GRID +
	                  (int)((v + 1) / 2 * (VOLREND_GRID - 1) + 0.5F));
}

/* The direction of a number that is not 0; of length 1. */
static void volrend_direction(int number, float *out)
{
	float u = (float)(2 * ((number - 1) / VOLREND_GRID)) / (VOLREND_GRID - 1) - 1, length;
	float v = (float)(2 * ((number - 1) % VOLREND_GRID)) / (VOLREND_GRID - 1) - 1;

	out[2] = 1 - fabsf(u) - fabsf(v);
	if (out[2] < 0)
		volrend_fold(&u, &v);
	out[0] = u;
	out[1] = v;
	length = sqrtf(u * u + v * v + out[2] * out[2]);
	for (int i = 0; i < 3; i++)
		out[i] /= length;
}

/* ---- preparation ------------------------------------------------------------------------------------------------- */

/* Twice the slope of density along one axis; @at of @length is the voxel's place on it, @step from one to the next. */
static float volrend_slope(const uint8_t *density, long at, long length, size_t step)
{
	const uint8_t *after = at + 1 < length ? density + step : density, *before = at ? density - step : density;

	return (float)(*after - *before);
}

static void volrend_normals(const struct volrend_volume *v, long first, long end)
{
	size_t row = (size_t)size, slice = row * row;
	float spacing = VOLREND_HEIGHT * (float)(size - 1) / (float)(volrend_depth() - 1);

	for (long z = first; z < end; z++)
		for (long y = 0; y < size; y++)
			for (long x = 0; x < size; x++) {
				size_t at = volrend_at(x, y, z);
				const uint8_t *d = v->density + at;

				v->normal[at] =
				    opacity[*d] <= 0
				        ? 0
				        : volrend_number(-volrend_slope(d, x, size, 1), -volrend_slope(d, y, size, row),
				                         -volrend_slope(d, z, volrend_depth(), slice) / spacing);
			}
}

static long volrend_least(long a, long b)
{
	return a < b ? a : b;
}

/* Is anything visible in the block that begins at this voxel, or next to it, within the reach of interpolation? */
static uint8_t volrend_see(const struct volrend_volume *v, long x, long y, long z)
{
	for (long k = z; k <= volrend_least(z + VOLREND_BLOCK, volrend_depth() - 1); k++)
		for (long j = y; j <= volrend_least(y + VOLREND_BLOCK, size - 1); j++)
			for (long i = x; i <= volrend_least(x + VOLREND_BLOCK, size - 1); i++)
				if (opacity[v->density[volrend_at(i, j, k)]] > 0)
					return 1;
	return 0;
}

static void volrend_map(const struct volrend_volume *v, int id, int count)
{
	long slices = volrend_blocks(volrend_depth());

	for (long z = slices * id / count * VOLREND_BLOCK; z < slices * (id + 1) / count * VOLREND_BLOCK;
	     z += VOLREND_BLOCK)
		for (long y = 0; y < size; y += VOLREND_BLOCK)
			for (long x = 0; x < size; x += VOLREND_BLOCK)
				v->visible[volrend_block_at(x, y, z)] = volrend_see(v, x, y, z);
}

static void volrend_prepare(const struct volrend_volume *v, int id, int count)
{
	volrend_normals(v, volrend_slice(id, count), volrend_slice(id + 1, count));
	volrend_map(v, id, count);
}

/* ---- rays -------------------------------------------------------------------------------------------------------- */

static struct volrend_view volrend_look(long frame)
{
	struct volrend_view view = {.bright = {0.2F}};
	double angle = 2 * M_PI * (double)frame / (double)frames;
	float c = (float)cos(angle), s = (float)sin(angle),
	      light[3] = {0.9F * s - 0.3F * c, -0.9F * c - 0.3F * s, -0.3F};
	/* Voxels to a unit of the head's space, in which the width of the volume is 2. */
	float wide = (float)(size - 1) / 2, high = (float)(volrend_depth() - 1) / 2 / VOLREND_HEIGHT;
	float pixel = 2 * VOLREND_VIEW / (float)pixels, corner = -VOLREND_VIEW + pixel / 2;

	view.right[0] = pixel * wide * c;
	view.right[1] = pixel * wide * s;
	view.down[2] = pixel * high;
	view.ahead[0] = -s;
	view.ahead[1] = c;
	view.origin[0] = wide + corner * wide * c;
	view.origin[1] = wide + corner * wide * s;
	view.origin[2] = (float)(volrend_depth() - 1) / 2 + corner * high;
	for (int n = 1; n < VOLREND_DIRECTIONS; n++) {
		float normal[3], cosine;

		volrend_direction(n, normal);
		cosine = normal[0] * light[0] + normal[1] * light[1] + normal[2] * light[2];
		view.bright[n] = 0.2F + 0.8F * fmaxf(0, cosine);
	}
	return view;
}

/* Opacity and light, weighted by it, at a point within the volume: interpolated between eight voxels. */
static void volrend_sample(const struct volrend_volume *v, const float *bright, const float *at, float *alpha,
                           float *light)
{
	long x = (long)at[0], y = (long)at[1], z = (long)at[2];
	float part[3] = {at[0] - (float)x, at[1] - (float)y, at[2] - (float)z};

	for (int corner = 0; corner < 8; corner++) {
		size_t voxel = volrend_at(x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2));
		float weight = opacity[v->density[voxel]];

		if (weight <= 0)
			continue;
		for (int i = 0; i < 3; i++)
			weight *= corner >> i & 1 ? part[i] : 1 - part[i];
		*alpha += weight;
		*light += weight * bright[v->normal[voxel]];
	}
}

/* Cut [*from, *to] to those steps where @start + step * @slope is within [0, limit). */
static void volrend_clip(float start, float slope, float limit, float *from, float *to)
{
	float enter, leave;

	limit -= 0.001F;
	if (fabsf(slope) < 1e-6F) {
		if (start < 0 || start > limit)
			*to = *from - 1;
		return;
	}
	enter = -start / slope;
	leave = (limit - start) / slope;
	*from = fmaxf(*from, fminf(enter, leave));
	*to = fminf(*to, fmaxf(enter, leave));
}

static uint8_t volrend_ray(const struct volrend_volume *v, const struct volrend_view *view, long i, long j)
{
	float start[3], from = -2 * (float)size, to = 2 * (float)size, limit[3], alpha = 0, light = 0;

	limit[0] = limit[1] = (float)(size - 1);
	limit[2] = (float)(volrend_depth() - 1);
	for (int a = 0; a < 3; a++) {
		start[a] = view->origin[a] + (float)j * view->right[a] + (float)i * view->down[a];
		volrend_clip(start[a], view->ahead[a], limit[a], &from, &to);
	}
	for (float step = ceilf(from); step <= to && alpha < VOLREND_OPAQUE; step++) {
		float at[3], a = 0, l = 0;

		for (int k = 0; k < 3; k++)
			at[k] = fminf(fmaxf(start[k] + step * view->ahead[k], 0), limit[k] - 0.001F);
		if (!v->visible[volrend_block_at((long)at[0], (long)at[1], (long)at[2])])
			continue;
		volrend_sample(v, view->bright, at, &a, &l);
		light += (1 - alpha) * l;
		alpha += (1 - alpha) * a;
	}
	return (uint8_t)fminf(255, 255 * light);
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* A rectangle of pixels. */
struct volrend_part {
	long top, bottom, left, right;
};

/* Processor @id's part of the picture: the processors form a grid, as square as possible. */
static struct volrend_part volrend_part(int id, int count)
{
	int rows = 1;

	for (int r = 1; r * r <= count; r++)
		if (count % r == 0)
			rows = r;

	long row = id / (count / rows), column = id % (count / rows), columns = count / rows;

	return (struct volrend_part){pixels * row / rows, pixels * (row + 1) / rows, pixels * column / columns,
	                             pixels * (column + 1) / columns};
}

static long volrend_tiles(const struct volrend_part *part)
{
	return (part->bottom - part->top + tile - 1) / tile * ((part->right - part->left + tile - 1) / tile);
}

static void volrend_tile(const struct volrend_volume *v, const struct volrend_view *view,
                         const struct volrend_part *part, long number)
{
	long across = (part->right - part->left + tile - 1) / tile;
	long top = part->top + number / across * tile, left = part->left + number % across * tile;

	for (long i = top; i < volrend_least(top + tile, part->bottom); i++)
		for (long j = left; j < volrend_least(left + tile, part->right); j++)
			v->picture[i * pixels + j] = volrend_ray(v, view, i, j);
}

static struct volrend_queue *volrend_queue(int id)
{
	return (struct volrend_queue *)(queues + (size_t)id * VOLREND_QUEUE_BYTES);
}

/* The next of @tiles tiles in the queue; -1 when none is left. */
static long volrend_take(struct volrend_queue *queue, long tiles)
{
	long number = -1;

	tw_lock_acquire(queue->lock);
	if (queue->next < tiles)
		number = queue->next++;
	tw_lock_release(queue->lock);
	return number;
}

/* Render the own queue's tiles, then those of all other queues. */
static void volrend_frame(long frame)
{
	struct volrend_view view = volrend_look(frame);
	int count = tw_count();

	for (int p = 0; p < count; p++) {
		int victim = (tw_id() + p) % count;
		struct volrend_part part = volrend_part(victim, count);
		long number;

		while ((number = volrend_take(volrend_queue(victim), volrend_tiles(&part))) >= 0)
			volrend_tile(&shared, &view, &part, number);
	}
}

/* A hash of the picture (FNV-1a); reads what a display would. */
static uint64_t volrend_hash(const struct volrend_volume *v)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (long i = 0; i < pixels * pixels; i++)
		hash = (hash ^ v->picture[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static void volrend_parallel(unsigned round)
{
	(void)round;
	volrend_prepare(&shared, tw_id(), tw_count());
	for (long frame = 0; frame < frames; frame++) {
		volrend_queue(tw_id())->next = 0;
		tw_barrier_all();
		volrend_frame(frame);
		tw_barrier_all();
		if (tw_id() == 0)
			shared.taken[frame] = volrend_hash(&shared);
	}
}

static void volrend_sequential(void)
{
	struct volrend_part all = {0, pixels, 0, pixels};

	volrend_prepare(&plain, 0, 1);
	for (long frame = 0; frame < frames; frame++) {
		struct volrend_view view = volrend_look(frame);

		for (long number = 0; number < volrend_tiles(&all); number++)
			volrend_tile(&plain, &view, &all, number);
		plain.taken[frame] = volrend_hash(&plain);
	}
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void volrend_init(int id)
{
	volrend_init_slices(&shared, volrend_slice(id, tw_count()), volrend_slice(id + 1, tw_count()));
}

/* Set up what both forms need, first of all the picture's file, so that a wrong name costs no work. */
static void volrend_private(void)
{
	for (int d = 0; d < 256; d++)
		opacity[d] = d < 95 ? 0 : d < 135 ? (float)(d - 95) / 40 : 1;
	if (file_name && !(file = fopen(file_name, "wb")))
		kernel_fail("--image %.160s: %s", file_name, strerror(errno));
}

/* Bytes that the map of blocks needs. */
static size_t volrend_map_bytes(void)
{
	return volrend_block_at(0, 0, volrend_blocks(volrend_depth()) * VOLREND_BLOCK);
}

static bool volrend_share(void)
{
	if (tw_id() != 0)
		file_name = NULL;
	volrend_private();
	shared.density = kernel_share(volrend_voxels());
	shared.normal = kernel_share(volrend_voxels() * sizeof(*shared.normal));
	shared.visible = kernel_share(volrend_map_bytes());
	shared.picture = kernel_share((size_t)(pixels * pixels));
	queues = kernel_share((size_t)tw_count() * VOLREND_QUEUE_BYTES);
	if (!shared.density || !shared.normal || !shared.visible || !shared.picture || !queues)
		return false;
	shared.taken = kernel_alloc((size_t)frames * sizeof(*shared.taken));
	volrend_queue(tw_id())->lock = tw_lock_create();
	tw_barrier_all();
	return true;
}

static void volrend_plain(void)
{
	if (!queues)
		volrend_private();
	plain.density = kernel_alloc(volrend_voxels());
	plain.normal = kernel_alloc(volrend_voxels() * sizeof(*plain.normal));
	plain.visible = kernel_alloc(volrend_map_bytes());
	plain.picture = kernel_alloc((size_t)(pixels * pixels));
	plain.taken = kernel_alloc((size_t)frames * sizeof(*plain.taken));
}

static void volrend_plain_init(void)
{
	volrend_init_slices(&plain, 0, volrend_depth());
}

/* ---- the picture as a file --------------------------------------------------------------------------------------- */

#ifdef TW_PNG
static void volrend_png_error(png_structp png, png_const_charp text)
{
	(void)png;
	kernel_fail("--image %.160s: %.80s", file_name, text);
}

static void volrend_write(const uint8_t *picture)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, volrend_png_error, NULL);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (!info)
		kernel_fail("no memory for the picture's file");
	png_init_io(png, file);
	png_set_IHDR(png, info, (png_uint_32)pixels, (png_uint_32)pixels, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
	             PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (long i = 0; i < pixels; i++)
		png_write_row(png, picture + i * pixels);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
}

static const char *volrend_check(void)
{
	return NULL;
}
#else
static void volrend_write(const uint8_t *picture)
{
	(void)picture;
}

static const char *volrend_check(void)
{
	return file_name ? "--image needs libpng: install libpng-dev, then configure and build again." : NULL;
}
#endif

/* The last frame. */
static void volrend_output(bool parallel)
{
	if (!file)
		return;
	volrend_write(parallel ? shared.picture : plain.picture);
	if (fclose(file))
		kernel_fail("--image %.160s: %s", file_name, strerror(errno));
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* Does the picture show a head: dark at the edge, bright in the middle? */
static bool volrend_head_seen(void)
{
	long middle = pixels / 2, bright = 0;

	for (long i = 0; i < pixels; i++)
		if (plain.picture[i] || plain.picture[(pixels - 1) * pixels + i] || plain.picture[i * pixels]) {
			fprintf(stderr, "volrend: pixel %ld of an edge is not dark.\n", i);
			return false;
		}
	for (long i = -pixels / 8; i < pixels / 8; i++)
		bright += plain.picture[(middle / 2 - pixels / 16) * pixels + middle + i] > 100;
	if (bright < pixels / 8)
		fprintf(stderr, "volrend: there is no forehead.\n");
	return bright >= pixels / 8;
}

static bool volrend_verify(bool compare)
{
	for (long frame = 0; compare && frame < frames; frame++)
		if (shared.taken[frame] != plain.taken[frame]) {
			fprintf(stderr, "volrend: frame %ld differs from the sequential one.\n", frame);
			return false;
		}
	for (long i = 0; compare && i < pixels * pixels; i++)
		if (shared.picture[i] != plain.picture[i]) {
			fprintf(stderr, "volrend: pixel (%ld, %ld) is %d, sequentially %d.\n", i / pixels, i % pixels,
			        shared.picture[i], plain.picture[i]);
			return false;
		}
	return volrend_head_seen();
}

int main(int argc, char **argv)
{
	static const struct kernel_option options[] = {
	    {"size", &size, 128, 256, 16, 1024,
	     "voxels along the sides of a slice; there are 113 / 256 as many slices"},
	    {"pixels", &pixels, 192, 416, 16, 8192, "pixels along the sides of the picture"},
	    {"tile", &tile, 8, 13, 1, 8192, "pixels along the sides of a tile"},
	    {"frames", &frames, 6, 5, 1, 10000, "pictures, for one turn of the head"},
	    {.name = NULL},
	};
	static const struct kernel_word words[] = {
	    {"image", &file_name, NULL, "a file for the last picture, as PNG"},
	    {.name = NULL},
	};
	static const struct kernel volrend = {
	    .name = "volrend",
	    .help = "ray casting of a volume",
	    .options = options,
	    .words = words,
	    .check = volrend_check,
	    .share = volrend_share,
	    .init = volrend_init,
	    .parallel = volrend_parallel,
	    .plain = volrend_plain,
	    .plain_init = volrend_plain_init,
	    .sequential = volrend_sequential,
	    .output = volrend_output,
	    .verify = volrend_verify,
	};

	return kernel_main(&volrend, argc, argv);
}
