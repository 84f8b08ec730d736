from edge_servlets import Audio as Audio, File as File, Image as Image
